// Where an object may be, as `ringctl holders`, `route` and `explain` say: against a public port
// that answers what a test wants.
#include <gmock/gmock.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/json_testing.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Completed;
using ::ringshift::testing::Member;
using ::ringshift::testing::ParseJsonObject;
using ::ringshift::testing::Ringctl;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// Gives every key to `a`, which `b` had before, unless its data center is `still`: nothing moved.
class FakePublic : public v1::RoutingService::Service {
 public:
  FakePublic() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  const std::string& address() const { return address_; }

  std::vector<v1::RouteHoldersRequest> requests;

 private:
  static void Set(const std::string& name, v1::RoutedNode& node) {
    node.set_name(name);
    node.set_address(name + ":443");
  }
  static void Answer(const std::string& data_center, v1::RouteResponse& response) {
    Set("a", *response.mutable_owner());
    response.set_ring_version(v1::RING_VERSION_V2);
    if (data_center != "still") Set("b", *response.mutable_previous_owner());
  }
  grpc::Status Route(grpc::ServerContext*, const v1::RouteRequest* request,
                     v1::RouteResponse* response) override {
    Answer(request->data_center(), *response);
    return grpc::Status::OK;
  }
  grpc::Status ExplainRoute(grpc::ServerContext*, const v1::ExplainRouteRequest* request,
                            v1::ExplainRouteResponse* response) override {
    Answer(request->data_center(), *response->mutable_answer());
    response->set_previous_owner_reason("of the\033[31m test");
    response->set_v1_warm_from_ppm(0);
    response->set_v2_warm_below_ppm(125'000);
    return grpc::Status::OK;
  }
  grpc::Status RouteHolders(grpc::ServerContext*, const v1::RouteHoldersRequest* request,
                            v1::RouteHoldersResponse* response) override {
    requests.push_back(*request);
    if (request->key() == "bad") return {grpc::StatusCode::INVALID_ARGUMENT, "of the test"};
    for (const auto& [name, reason] : std::vector<std::pair<std::string, v1::HolderReason>>{
             {"a", v1::HOLDER_REASON_OWNER},
             {"b", v1::HOLDER_REASON_PREVIOUS_OWNER},
             {"c", v1::HOLDER_REASON_OTHER_RING},
             {"d", v1::HOLDER_REASON_NEXT_NODE}}) {
      v1::Holder& holder = *response->add_holders();
      Set(name, *holder.mutable_node());
      holder.set_reason(reason);
    }
    response->mutable_table()->set_v2_ppm(125'000);
    return grpc::Status::OK;
  }

  std::string address_;
  std::unique_ptr<grpc::Server> server_;  // last: it ends before what its calls use
};

class RingctlHoldersTest : public ::testing::Test {
 protected:
  Completed Run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin() + 1, {"--server", fake_.address()});
    return Ringctl(std::move(arguments));
  }

  FakePublic fake_;
};

TEST_F(RingctlHoldersTest, EveryHolderIsARowWithItsReason) {
  const Completed result = Run({"holders", "--data-center", "ams", "--pool", "p", "/img/1.jpg"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "KEY         NODE  ADDRESS  WHY\n"
            "/img/1.jpg  a     a:443    owner\n"
            "/img/1.jpg  b     b:443    previous_owner\n"
            "/img/1.jpg  c     c:443    other_ring\n"
            "/img/1.jpg  d     d:443    next_node\n");
  ASSERT_THAT(fake_.requests, SizeIs(1));
  EXPECT_EQ(fake_.requests[0].data_center(), "ams");
  EXPECT_EQ(fake_.requests[0].pool(), "p");
  EXPECT_EQ(fake_.requests[0].key(), "/img/1.jpg");
  EXPECT_EQ(fake_.requests[0].next_nodes(), 0) << "the router's default";
}

TEST_F(RingctlHoldersTest, JsonIsALineAKey) {
  const Completed result =
      Run({"holders", "--data-center", "ams", "--json", "--next-nodes", "4", "--hex", "00ff"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const auto json = ParseJsonObject(result.out);
  EXPECT_EQ(Member(json, "key_hex").string_value(), "00ff");
  EXPECT_EQ(Member(json, "v2_ppm").number_value(), 125'000);
  const auto holders = Member(json, "holders").list_value();
  ASSERT_EQ(holders.values_size(), 4);
  const auto second = holders.values(1).struct_value();
  EXPECT_EQ(Member(second, "reason").string_value(), "previous_owner");
  EXPECT_EQ(Member(Member(second, "node").struct_value(), "address").string_value(), "b:443");
  ASSERT_THAT(fake_.requests, SizeIs(1));
  EXPECT_EQ(fake_.requests[0].next_nodes(), 4);
  EXPECT_EQ(fake_.requests[0].key(), std::string("\0\xff", 2));
}

TEST_F(RingctlHoldersTest, TheFirstKeyThatIsRefusedEndsItAfterTheOthers) {
  const Completed result =
      Run({"holders", "--data-center", "ams", "good", "--", "bad", "--never-asked"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_THAT(result.err, HasSubstr("key 2: "));
  EXPECT_THAT(result.err, HasSubstr("INVALID_ARGUMENT: of the test"));
  EXPECT_THAT(result.out, HasSubstr("\ngood  a"));
  EXPECT_THAT(fake_.requests, SizeIs(2));
}

TEST_F(RingctlHoldersTest, WhatMakesNoSenseIsAUsageError) {
  EXPECT_THAT(Run({"holders", "--data-center", "ams"}).err, HasSubstr("there is no key"));
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"holders", "--data-center", "ams"},
           {"holders", "--data-center", "ams", "--next-nodes", "17", "k"},
           {"holders", "--data-center", "ams", "--hex", "0", "k"},
           {"holders", "--data-center", "ams", "--nope", "k"},
           {"holders", "k"}}) {
    EXPECT_EQ(Run(arguments).exit_code, 2);
  }
  EXPECT_THAT(fake_.requests, IsEmpty());
}

TEST_F(RingctlHoldersTest, RouteNamesThePreviousOwnerWhereThereIsOne) {
  EXPECT_EQ(Run({"route", "--data-center", "ams", "k"}).out,
            "KEY  RING  OWNER  ADDRESS  REPLICAS  PREVIOUS OWNER\n"
            "k    v2    a      a:443              b:443\n");
  const auto json = ParseJsonObject(Run({"route", "--data-center", "ams", "--json", "k"}).out);
  EXPECT_EQ(Member(Member(json, "previous_owner").struct_value(), "name").string_value(), "b");
  EXPECT_THAT(Run({"route", "--data-center", "still", "--json", "k"}).out,
              HasSubstr("\"previous_owner\":null,"));
}

TEST_F(RingctlHoldersTest, ExplainSaysWhyThePreviousOwnerIsThat) {
  EXPECT_THAT(Run({"explain", "--data-center", "ams", "k"}).out,
              HasSubstr("\nprevious     b (b:443): of the\\x1b[31m test\n"));
  EXPECT_THAT(Run({"explain", "--data-center", "still", "k"}).out,
              HasSubstr("\nprevious     none: of the\\x1b[31m test\n"));
  const auto json = ParseJsonObject(Run({"explain", "--data-center", "ams", "--json", "k"}).out);
  EXPECT_EQ(Member(Member(json, "previous_owner").struct_value(), "address").string_value(),
            "b:443");
  EXPECT_EQ(Member(json, "previous_owner_reason").string_value(), "of the\033[31m test");
  EXPECT_EQ(Member(json, "v1_warm_from_ppm").number_value(), 0);
  EXPECT_EQ(Member(json, "v2_warm_below_ppm").number_value(), 125'000);
}

}  // namespace
}  // namespace ringshift
