#include "ringshift/fake_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::IsOk;
using ::testing::SizeIs;
using testing::StatusIs;

constexpr std::chrono::hours kNever{1000};

// Owner "node-LAST", where LAST is the last character of the key; "bad" has none.
absl::StatusOr<RouteReply> ByLastCharacter(const RouteQuery& query) {
  if (query.key == "bad") return absl::NotFoundError("no owner");
  RouteReply reply;
  reply.owner.name = "node-" + query.key.substr(query.key.size() - 1);
  reply.ring_version = 2;
  reply.table.checksum = 9;
  return reply;
}

TEST(FakeClientTest, AnswersWithOneNodeUntilItIsToldOtherwise) {
  FakeClient client;
  ASSERT_OK_AND_ASSIGN(const RouteReply reply, client.Route({"ams", "key"}));
  EXPECT_EQ(reply.owner.name, "fake-node");
  EXPECT_EQ(reply.owner.address, "fake-node.invalid:443");
  EXPECT_EQ(reply.ring_version, 1);
  client.SetAnswer(ByLastCharacter);
  ASSERT_OK_AND_ASSIGN(const RouteReply other, client.Route({"ams", "key"}));
  EXPECT_EQ(other.owner.name, "node-y");
}

TEST(FakeClientTest, AnswersABatchAsItsKeysOneByOne) {
  FakeClient client;
  client.SetAnswer(ByLastCharacter);
  ASSERT_OK_AND_ASSIGN(const BatchReply reply, client.RouteBatch({"ams", {"1a", "1b", "2a"}}));
  EXPECT_THAT(reply.nodes, SizeIs(2));
  EXPECT_EQ(reply.owner(0).name, "node-a");
  EXPECT_EQ(reply.owner(1).name, "node-b");
  EXPECT_EQ(reply.owner(2).name, "node-a");
  EXPECT_THAT(reply.ring_versions, ElementsAre(2, 2, 2));
  EXPECT_EQ(reply.table.checksum, 9U);
}

TEST(FakeClientTest, ABatchHasThePreviousOwnersThatItsKeysHaveOneByOne) {
  FakeClient client;
  client.SetAnswer([](const RouteQuery& query) -> absl::StatusOr<RouteReply> {
    RouteReply reply;
    reply.owner = {"new", "new.example:443"};
    if (query.key == "moved") reply.previous_owner = RoutedNode{"old", "old.example:443"};
    return reply;
  });
  ASSERT_OK_AND_ASSIGN(const BatchReply reply, client.RouteBatch({"ams", {"a", "moved", "b"}}));
  EXPECT_THAT(reply.nodes, SizeIs(2));
  EXPECT_EQ(reply.previous_owner(0), nullptr);
  ASSERT_NE(reply.previous_owner(1), nullptr);
  EXPECT_EQ(reply.previous_owner(1)->address, "old.example:443");
  EXPECT_EQ(reply.previous_owner(2), nullptr);
  ASSERT_OK_AND_ASSIGN(const BatchReply none, client.RouteBatch({"ams", {"a", "b"}}));
  EXPECT_TRUE(none.previous_owner_places.empty());
}

TEST(FakeClientTest, ARingVersionThatNoClientGivesIsZeroInABatch) {
  FakeClient client;
  client.SetAnswer([](const RouteQuery& query) -> absl::StatusOr<RouteReply> {
    RouteReply reply;
    reply.ring_version = query.key == "high" ? 256 + 1 : -1;
    return reply;
  });
  ASSERT_OK_AND_ASSIGN(const BatchReply reply, client.RouteBatch({"ams", {"high", "low"}}));
  EXPECT_THAT(reply.ring_versions, ElementsAre(0, 0));
}

TEST(FakeClientTest, ABadKeyFailsTheBatchAndIsNamed) {
  FakeClient client;
  client.SetAnswer(ByLastCharacter);
  EXPECT_THAT(client.RouteBatch({"ams", {"a", "bad"}}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("key 1: no owner")));
  EXPECT_THAT(client.RouteBatch({"ams", {}}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("0 keys")));
}

TEST(FakeClientTest, FailsAsOftenAsItIsTold) {
  FakeClient client;
  client.FailNext(absl::UnavailableError("down"), 2);
  client.FailNext(absl::NotFoundError("gone"));
  EXPECT_THAT(client.Route({"ams", "key"}), StatusIs(absl::StatusCode::kUnavailable, "down"));
  EXPECT_THAT(client.RouteBatch({"ams", {"key"}}),
              StatusIs(absl::StatusCode::kUnavailable, "down"));
  EXPECT_THAT(client.Route({"ams", "key"}), StatusIs(absl::StatusCode::kNotFound, "gone"));
  EXPECT_THAT(client.Route({"ams", "key"}), IsOk());
}

TEST(FakeClientTest, RefusesWhatARouterRefuses) {
  FakeClient client;
  const std::string longest(16'384, 'k');
  const auto refused = [](const std::string& why) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(why));
  };
  EXPECT_THAT(client.Route({"", "key"}), refused("data_center is empty"));
  EXPECT_THAT(client.Route({"ams", ""}), refused("key is empty"));
  EXPECT_THAT(client.Route({"ams", longest}), IsOk());
  EXPECT_THAT(client.Route({"ams", longest + "k"}), refused("16385 bytes"));
  EXPECT_THAT(client.Route({"ams", "key", "", -1}), refused("replicas is -1"));
  EXPECT_THAT(client.Route({"ams", "key", "", 0}), IsOk());
  EXPECT_THAT(client.Route({"ams", "key", "", 16}), IsOk());
  EXPECT_THAT(client.Route({"ams", "key", "", 17}), refused("replicas is 17"));

  EXPECT_THAT(client.RouteBatch({"", {"key"}}), refused("data_center is empty"));
  EXPECT_THAT(client.RouteBatch({"ams", {"key", ""}}), refused("keys[1] is empty"));
  EXPECT_THAT(client.RouteBatch({"ams", {"key", longest + "k"}}),
              refused("keys[1] has 16385 bytes"));
  EXPECT_THAT(client.RouteBatch({"ams", std::vector<std::string>(10'000, "k")}), IsOk());
  EXPECT_THAT(client.RouteBatch({"ams", std::vector<std::string>(10'001, "k")}),
              refused("10001 keys"));
  EXPECT_THAT(client.RouteBatch({"ams", std::vector<std::string>(255, longest)}), IsOk());
  EXPECT_THAT(client.RouteBatch({"ams", std::vector<std::string>(256, longest)}),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("4194304")));
}

TEST(FakeClientTest, RemembersWhatItRefused) {
  FakeClient client;
  client.Route({"ams", ""}).status().IgnoreError();
  client.RouteBatch({"ams", {}}).status().IgnoreError();
  EXPECT_THAT(client.routes(), SizeIs(1));
  EXPECT_THAT(client.batches(), SizeIs(1));
}

TEST(FakeClientTest, ToFailWithOkIsToAnswer) {
  FakeClient client;
  client.FailNext(absl::UnavailableError("down"));
  client.FailNext(absl::OkStatus(), 2);
  client.FailNext(absl::UnavailableError("again"));
  EXPECT_THAT(client.Route({"ams", "key"}), StatusIs(absl::StatusCode::kUnavailable, "down"));
  EXPECT_THAT(client.Route({"ams", "key"}), IsOk());
  EXPECT_THAT(client.RouteBatch({"ams", {"key"}}), IsOk());
  EXPECT_THAT(client.Route({"ams", "key"}), StatusIs(absl::StatusCode::kUnavailable, "again"));
}

TEST(FakeClientTest, WithoutAnAnswerItIsAsItWasAtFirst) {
  FakeClient client;
  client.SetAnswer(ByLastCharacter);
  client.SetAnswer(nullptr);
  ASSERT_OK_AND_ASSIGN(const RouteReply reply, client.Route({"ams", "bad"}));
  EXPECT_EQ(reply.owner.name, "fake-node");
}

TEST(FakeClientTest, RemembersWhatItWasAsked) {
  FakeClient client;
  client.FailNext(absl::UnavailableError("down"));
  client.Route({"ams", "a", "fedramp", 3}).status().IgnoreError();
  client.Route({"fra", "b"}).status().IgnoreError();
  client.RouteBatch({"ams", {"c", "d"}}).status().IgnoreError();
  EXPECT_THAT(
      client.routes(),
      ElementsAre(AllOf(Field(&RouteQuery::key, "a"), Field(&RouteQuery::pool, "fedramp"),
                        Field(&RouteQuery::replicas, 3)),
                  AllOf(Field(&RouteQuery::data_center, "fra"), Field(&RouteQuery::key, "b"))));
  EXPECT_THAT(client.batches(), ElementsAre(Field(&BatchQuery::keys, ElementsAre("c", "d"))));
}

TEST(FakeClientTest, CallsThatWaitLongerThanTheirTimeoutMissTheirDeadline) {
  FakeClient client;
  client.SetDelay(kNever);
  EXPECT_THAT(client.Route({"ams", "key", "", 1, std::chrono::milliseconds(3)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 3 ms")));
}

TEST(FakeClientTest, AnyDelayCanBeSet) {
  FakeClient client;
  client.SetDelay(std::chrono::microseconds::max());
  EXPECT_THAT(client.Route({"ams", "key", "", 1, std::chrono::milliseconds(3)}),
              StatusIs(absl::StatusCode::kDeadlineExceeded, HasSubstr("within 3 ms")));
  client.SetDelay(std::chrono::microseconds::min());
  EXPECT_THAT(client.Route({"ams", "key"}), IsOk());
}

TEST(FakeClientTest, AnAnswerThatIsDelayedComesThen) {
  FakeClient client;
  client.SetDelay(std::chrono::milliseconds(5));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(client.Route({"ams", "key", "", 1, std::chrono::hours(1)}), IsOk());
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(5));
}

TEST(FakeClientTest, CallbacksRunInAnotherThread) {
  FakeClient client;
  std::promise<std::thread::id> ran;
  client.RouteAsync({"ams", "key"},
                    [&](const auto&) { ran.set_value(std::this_thread::get_id()); });
  EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(FakeClientTest, CallsUnderWayAreCancelledBeforeItIsGone) {
  std::optional<FakeClient> client(std::in_place);
  client->SetDelay(kNever);
  std::vector<absl::Status> ends;
  client->RouteAsync({"ams", "a", "", 1, kNever},
                     [&](const auto& reply) { ends.push_back(reply.status()); });
  client->RouteBatchAsync({"ams", {"a"}, "", kNever},
                          [&](const auto& reply) { ends.push_back(reply.status()); });
  client.reset();
  EXPECT_THAT(ends, ElementsAre(StatusIs(absl::StatusCode::kCancelled, HasSubstr("destroyed")),
                                StatusIs(absl::StatusCode::kCancelled, HasSubstr("destroyed"))));
}

}  // namespace
}  // namespace ringshift
