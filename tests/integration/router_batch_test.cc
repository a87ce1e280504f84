// RouteBatch over gRPC, from a real router.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Key(int i) {
  if (i % 3 == 0) return std::string("\xFF\x00\x80", 3) + std::to_string(i);
  return "https://img.example/" + std::to_string(i) + ".jpg";
}

v1::RouteBatchRequest Batch(int keys, const std::string& pool = "",
                            const std::string& data_center = "ams") {
  v1::RouteBatchRequest request;
  request.set_data_center(data_center);
  request.set_pool(pool);
  for (int i = 0; i < keys; ++i) request.add_keys(Key(i));
  return request;
}

class RouterBatchTest : public ::testing::Test {
 protected:
  RouterBatchTest() { router_.WaitUntilReady(); }

  absl::Status RouteBatch(v1::RoutingService::Stub& stub, const v1::RouteBatchRequest& request,
                          v1::RouteBatchResponse& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Status status = stub.RouteBatch(&context, request, &response);
    return {static_cast<absl::StatusCode>(status.error_code()),
            absl::string_view(status.error_message())};
  }
  absl::Status Refusal(const v1::RouteBatchRequest& request) {
    v1::RouteBatchResponse response;
    return RouteBatch(*routing_, request, response);
  }

  TempDir dir_;
  std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  RouterProcess router_{topology_, dir_.File("state.db")};
  RouterClient client_{router_};
  std::unique_ptr<v1::RoutingService::Stub> routing_ =
      v1::RoutingService::NewStub(router_.PublicChannel());
};

TEST_F(RouterBatchTest, ABatchAnswersAsRouteDoesForEveryKey) {
  constexpr int kKeys = 2000;
  for (const int ppm : {0, 375'000, 1'000'000}) {
    ASSERT_THAT(client_.SetShare("ams", ppm).status(), IsOk());
    for (const auto& [data_center, pool] :
         {std::pair("ams", ""), std::pair("ams", "fedramp"), std::pair("new", "default")}) {
      const v1::RouteBatchRequest request = Batch(kKeys, pool, data_center);
      v1::RouteBatchResponse batch;
      ASSERT_THAT(RouteBatch(*routing_, request, batch), IsOk());
      ASSERT_EQ(batch.node_indexes_size(), kKeys);
      ASSERT_EQ(batch.ring_versions_size(), kKeys);
      v1::RouteRequest route;
      route.set_data_center(data_center);
      route.set_pool(pool);
      for (int i = 0; i < kKeys; ++i) {
        route.set_key(Key(i));
        ASSERT_OK_AND_ASSIGN(const v1::RouteResponse answer, client_.Route(route));
        const v1::RoutedNode& owner = batch.nodes(batch.node_indexes(i));
        EXPECT_EQ(owner.name(), answer.owner().name()) << i;
        EXPECT_EQ(owner.address(), answer.owner().address()) << i;
        EXPECT_EQ(batch.ring_versions(i), answer.ring_version()) << i;
        EXPECT_EQ(batch.table().SerializeAsString(), answer.table().SerializeAsString());
      }
    }
  }
}

TEST_F(RouterBatchTest, ABadKeyIsNamedByItsIndex) {
  v1::RouteBatchRequest request = Batch(3000);
  request.set_keys(2345, "");
  EXPECT_THAT(Refusal(request), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("2345")));
  EXPECT_THAT(
      router_.Get("/metrics"),
      AllOf(HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"default\","
                      "ring_version=\"v1\"} 0\n"),
            HasSubstr("ringshift_route_errors_total{data_center=\"ams\",code=\"INVALID_"
                      "ARGUMENT\"} 3000\n"),
            HasSubstr("ringshift_route_duration_seconds_count{method=\"RouteBatch\"} 1\n")));
}

TEST_F(RouterBatchTest, TenThousandKeysAreAnsweredAndOneMoreIsRefused) {
  v1::RouteBatchResponse response;
  ASSERT_THAT(RouteBatch(*routing_, Batch(10'000), response), IsOk());
  EXPECT_EQ(response.node_indexes_size(), 10'000);
  EXPECT_THAT(Refusal(Batch(10'001)), StatusIs(absl::StatusCode::kInvalidArgument,
                                               AllOf(HasSubstr("10001"), HasSubstr("10000"))));
  EXPECT_THAT(Refusal(Batch(0)), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 keys")));
}

TEST_F(RouterBatchTest, ARequestAboveFourMebibytesIsRefusedAndHurtsNobody) {
  v1::RouteBatchRequest request;
  request.set_data_center("ams");
  for (int i = 0; i < 255; ++i) request.add_keys(std::string(16'384, 'k'));
  EXPECT_THAT(Refusal(request), IsOk());
  request.add_keys(std::string(16'384, 'k'));
  ASSERT_GT(request.ByteSizeLong(), 4u << 20);
  EXPECT_THAT(Refusal(request),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4194304")));
  EXPECT_THAT(Refusal(Batch(10)), IsOk());
}

TEST_F(RouterBatchTest, TheRefusalsOfRouteAreThoseOfABatch) {
  EXPECT_THAT(Refusal(Batch(1, "", "asm")),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
  EXPECT_THAT(Refusal(Batch(1, "fedrmap")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("fedramp")));
  EXPECT_THAT(Refusal(Batch(1, "nowhere")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("nowhere")));
  EXPECT_THAT(Refusal(Batch(1, "", "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center is empty")));
}

// Shares and topologies change all the time; each batch must be of one of them, and calls beside
// the batches must not fail.
TEST_F(RouterBatchTest, EachBatchIsOfOneTableWhateverChangesMeanwhile) {
  constexpr int kKeys = 5000;
  const v1::RouteBatchRequest request = Batch(kKeys);
  std::atomic<bool> done = false;
  std::atomic<int> wrong = 0;
  std::atomic<int> failed = 0;
  std::atomic<int> batches = 0;
  std::vector<std::thread> threads;
  std::vector<std::map<std::string, std::string>> answers(2);  // by table
  for (auto& seen : answers) {
    threads.emplace_back([&, stub = v1::RoutingService::NewStub(router_.PublicChannel())] {
      while (!done) {
        v1::RouteBatchResponse response;
        if (!RouteBatch(*stub, request, response).ok()) {
          ++failed;
          continue;
        }
        ++batches;
        // The share in the answer must be that of its keys.
        const auto by_v2 = std::count(response.ring_versions().begin(),
                                      response.ring_versions().end(), v1::RING_VERSION_V2);
        const double ratio = static_cast<double>(by_v2) / kKeys;
        const double share = response.table().v2_ppm() / 1e6;
        wrong += std::abs(ratio - share) > 0.04;
        const std::string table = std::to_string(response.table().checksum()) + "/" +
                                  std::to_string(response.table().v2_ppm());
        // Previous owners are those of the changes before, which the checksum does not have.
        std::string owners;
        for (int key = 0; key < response.node_indexes_size(); ++key) {
          owners += response.nodes(response.node_indexes(key)).name() + "/" +
                    std::to_string(response.ring_versions(key)) + " ";
        }
        const auto [at, is_new] = seen.emplace(table, owners);
        wrong += !is_new && at->second != owners;
      }
    });
  }
  threads.emplace_back([&, stub = v1::RoutingService::NewStub(router_.PublicChannel())] {
    v1::RouteRequest route;
    route.set_data_center("ams");
    route.set_key("key");
    while (!done) {
      grpc::ClientContext context;
      v1::RouteResponse response;
      failed += !stub->Route(&context, route, &response).ok();
    }
  });

  std::string other = SmallTopology();
  const std::string address = "10.0.0.9:";
  ASSERT_NE(other.find("cache-9"), std::string::npos);
  other.replace(other.find("cache-9"), 7, "cache-x");
  for (int i = 0; i < 20; ++i) {
    ASSERT_THAT(client_.SetShare("ams", i % 2 == 0 ? 900'000 : 100'000).status(), IsOk());
    dir_.Write("topology.yaml", i % 2 == 0 ? other : SmallTopology());
    ASSERT_OK_AND_ASSIGN(const v1::ReloadTopologyResponse reloaded, client_.Reload());
    ASSERT_EQ(reloaded.changes_size() > 0, true) << reloaded.DebugString();
    const int before = batches;
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (batches < before + 4 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(failed, 0);
  EXPECT_GE(batches, 80);
  std::set<std::string> tables;
  for (const auto& seen : answers) {
    for (const auto& [table, answer] : seen) tables.insert(table);
  }
  EXPECT_GE(tables.size(), 4u);  // two topologies with two shares
}

TEST_F(RouterBatchTest, KeysAreCountedByPoolAndRing) {
  ASSERT_THAT(client_.SetShare("ams", 1'000'000).status(), IsOk());
  v1::RouteBatchResponse response;
  ASSERT_THAT(RouteBatch(*routing_, Batch(1500, "fedramp"), response), IsOk());
  EXPECT_THAT(router_.Get("/metrics"),
              AllOf(HasSubstr("ringshift_routes_total{data_center=\"ams\",pool=\"fedramp\","
                              "ring_version=\"v2\"} 1500\n"),
                    HasSubstr("ringshift_route_duration_seconds_count{method=\"RouteBatch\"} 1\n"),
                    HasSubstr("ringshift_route_duration_seconds_count{method=\"Route\"} 0\n")));
}

}  // namespace
}  // namespace ringshift::testing
