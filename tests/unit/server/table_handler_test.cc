// Batches of TableHandler, which a real router's tests do not see from within: slices, tables,
// counts. What Route answers is tested with a real router.
#include "server/table_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "routing/route.h"
#include "tests/testing/byte_buffers.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::Parse;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::ToByteBuffer;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Key(int i) { return "/img/" + std::to_string(i) + ".jpg"; }

v1::RouteBatchRequest Batch(int keys, const std::string& pool = "",
                            const std::string& data_center = "ams") {
  v1::RouteBatchRequest request;
  request.set_data_center(data_center);
  request.set_pool(pool);
  for (int i = 0; i < keys; ++i) request.add_keys(Key(i));
  return request;
}

class TableHandlerTest : public testing::SmallRouterTest {
 protected:
  void SetUp() override {
    Adopt();
    for (const char* name : {"ams", "new"}) metrics_.Serve(Table(name)->data_center());
    lifecycle_.StartServing();
  }

  absl::Status Answer(const v1::RouteBatchRequest& request, v1::RouteBatchResponse& response) {
    response.Clear();
    return AnswerBytes(ToByteBuffer(request), response);
  }
  absl::Status AnswerBytes(const grpc::ByteBuffer& request, v1::RouteBatchResponse& response) {
    handler_.StartBatch(request, std::chrono::steady_clock::now());
    return EndBatch(response);
  }
  absl::Status EndBatch(v1::RouteBatchResponse& response) {
    grpc::ByteBuffer bytes;
    std::optional<absl::Status> status;
    while (!status) {
      EXPECT_FALSE(bytes.Valid());
      status = handler_.ContinueBatch(bytes);
    }
    EXPECT_EQ(bytes.Valid(), status->ok());
    if (status->ok()) {
      EXPECT_TRUE(Parse(bytes, response));
    }
    return *status;
  }

  static absl::Status AnswerRoute(TableHandler& handler, const v1::RouteRequest& request,
                                  v1::RouteResponse& response) {
    grpc::ByteBuffer bytes;
    absl::Status status =
        handler.Route(ToByteBuffer(request), std::chrono::steady_clock::now(), bytes);
    EXPECT_EQ(bytes.Valid(), status.ok());
    if (status.ok()) {
      EXPECT_TRUE(Parse(bytes, response));
    }
    return status;
  }

  absl::Status Refusal(const v1::RouteBatchRequest& request) {
    v1::RouteBatchResponse response;
    return Answer(request, response);
  }

  // What the table answers to key i.
  static std::string Owner(const RoutingTable& table, int i, const std::string& pool = "") {
    const RouteAnswer answer = Route(table, {Key(i), pool}).value();
    return table.data_center().node(answer.nodes()[0]).name;
  }

  // The value of a series of /metrics.
  double Value(const std::string& family, const std::string& labels) const {
    MetricFamilies families;
    metrics_.Collect(families);
    for (const prometheus::MetricFamily& each : families) {
      if (each.name != family) continue;
      for (const prometheus::ClientMetric& metric : each.metric) {
        std::string text;
        for (const auto& label : metric.label) text += (text.empty() ? "" : "/") + label.value;
        if (text != labels) continue;
        return each.type == prometheus::MetricType::Histogram
                   ? static_cast<double>(metric.histogram.sample_count)
                   : metric.counter.value;
      }
    }
    ADD_FAILURE() << "no " << family << " " << labels;
    return -1;
  }
  double Routes(const std::string& labels) const { return Value("ringshift_routes_total", labels); }
  double Errors(const std::string& labels) const {
    return Value("ringshift_route_errors_total", labels);
  }
  double Calls(const std::string& method) const {
    return Value("ringshift_route_duration_seconds", method);
  }

  Lifecycle lifecycle_;
  RouteMetrics metrics_;
  TableHandler handler_{lifecycle_, directory_, &metrics_};
};

TEST_F(TableHandlerTest, EveryKeyOfABatchHasTheOwnerThatRouteGivesIt) {
  ASSERT_THAT(Set("ams", 400'000), IsOk());
  const auto table = Table("ams");
  for (const int keys : {1, 2, 255, 256, 257, 512, 10'000}) {
    for (const std::string pool : {"", "default", "special"}) {
      v1::RouteBatchResponse response;
      ASSERT_THAT(Answer(Batch(keys, pool), response), IsOk());
      ASSERT_EQ(response.node_indexes_size(), keys);
      ASSERT_EQ(response.ring_versions_size(), keys);
      std::set<std::string> names;
      for (const v1::RoutedNode& node : response.nodes()) {
        EXPECT_TRUE(names.insert(node.name()).second) << node.name() << " comes twice";
      }
      std::set<int> used;
      for (int i = 0; i < keys; ++i) {
        used.insert(response.node_indexes(i));
        ASSERT_LT(response.node_indexes(i), response.nodes_size());
        EXPECT_EQ(response.nodes(response.node_indexes(i)).name(), Owner(*table, i, pool));
        const RingVersion version = Route(*table, {Key(i), pool}).value().ring_version;
        EXPECT_EQ(response.ring_versions(i),
                  version == RingVersion::kV1 ? v1::RING_VERSION_V1 : v1::RING_VERSION_V2);
      }
      EXPECT_EQ(used.size(), names.size());
      EXPECT_EQ(response.table().checksum(), table->checksum());
      EXPECT_EQ(response.table().migration_revision(), table->migration().revision);
      EXPECT_EQ(response.table().v2_ppm(), 400'000);
    }
  }
}

TEST_F(TableHandlerTest, EveryKeyOfABatchHasThePreviousOwnerThatRouteGivesIt) {
  Migration migration = Table("ams")->migration();
  migration.share = Share::FromPpm(400'000).value();
  RouterState state;
  state.warmth = {.v2_warm_below = Share::FromPpm(700'000).value(),
                  .v1_warm_from = Share::FromPpm(200'000).value(),
                  .first_share = Share::None()};
  const auto table =
      RoutingTable::Create(Table("ams")->shared_data_center(), migration, state).value();
  directory_.Publish(table);
  for (const int keys : {1, 300, 10'000}) {
    v1::RouteBatchResponse response;
    ASSERT_THAT(Answer(Batch(keys), response), IsOk());
    int named = 0;
    std::set<std::string> names;
    for (const v1::RoutedNode& node : response.nodes()) {
      EXPECT_TRUE(names.insert(node.name()).second) << node.name() << " comes twice";
    }
    for (int i = 0; i < keys; ++i) {
      const RouteAnswer answer = Route(*table, {Key(i), ""}).value();
      const int place =
          response.previous_owner_places_size() == 0 ? 0 : response.previous_owner_places(i);
      ASSERT_EQ(place != 0, answer.previous_owner.has_value());
      if (place == 0) continue;
      ++named;
      ASSERT_EQ(response.nodes(place - 1).name(),
                table->data_center().node(*answer.previous_owner).name);
      ASSERT_NE(place - 1, response.node_indexes(i));
    }
    ASSERT_THAT(response.previous_owner_places_size(), ::testing::AnyOf(0, keys));
    if (keys > 1) {
      EXPECT_GT(named, keys / 4);
    }
    v1::RouteRequest request;
    request.set_data_center("ams");
    request.set_key(Key(keys - 1));
    v1::RouteResponse one;
    ASSERT_THAT(AnswerRoute(handler_, request, one), IsOk());
    const RouteAnswer expected = Route(*table, {Key(keys - 1), ""}).value();
    ASSERT_EQ(one.has_previous_owner(), expected.previous_owner.has_value());
    if (expected.previous_owner) {
      EXPECT_EQ(one.previous_owner().name(),
                table->data_center().node(*expected.previous_owner).name);
    }
  }
}

TEST_F(TableHandlerTest, WhereNoKeyHasAPreviousOwnerTheBatchHasNoPlaces) {
  v1::RouteBatchResponse response;
  ASSERT_THAT(Answer(Batch(1'000), response), IsOk());
  EXPECT_EQ(response.previous_owner_places_size(), 0);
}

TEST_F(TableHandlerTest, EqualKeysMayComeSeveralTimes) {
  v1::RouteBatchRequest request = Batch(0);
  for (int i = 0; i < 1000; ++i) request.add_keys("same");
  v1::RouteBatchResponse response;
  ASSERT_THAT(Answer(request, response), IsOk());
  EXPECT_EQ(response.nodes_size(), 1);
  EXPECT_THAT(response.node_indexes(), ::testing::Each(0));
}

TEST_F(TableHandlerTest, ABadKeyRefusesTheBatchWithItsIndexWhereverItIs) {
  for (const int bad : {0, 255, 256, 9'999}) {
    v1::RouteBatchRequest request = Batch(10'000);
    request.set_keys(bad, "");
    EXPECT_THAT(Refusal(request),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("[" + std::to_string(bad) + "]"), HasSubstr("empty"))));
    request.set_keys(bad, std::string(16'385, 'k'));
    EXPECT_THAT(Refusal(request),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("[" + std::to_string(bad) + "]"), HasSubstr("16385"))));
  }
  // Nothing of it is left to the next batch.
  v1::RouteBatchResponse response;
  ASSERT_THAT(Answer(Batch(3), response), IsOk());
  const auto table = Table("ams");
  for (int i = 0; i < 3; ++i) {
    ASSERT_LT(response.node_indexes(i), response.nodes_size());
    EXPECT_EQ(response.nodes(response.node_indexes(i)).name(), Owner(*table, i));
  }
}

TEST_F(TableHandlerTest, WhatIsOutOfRangeIsRefusedWithTheLimit) {
  EXPECT_THAT(Refusal(Batch(0)), StatusIs(absl::StatusCode::kInvalidArgument,
                                          AllOf(HasSubstr("0 keys"), HasSubstr("1 to 10000"))));
  EXPECT_THAT(Refusal(Batch(10'001)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("10001 keys"), HasSubstr("1 to 10000"))));
  EXPECT_THAT(Refusal(Batch(1, "", "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center is empty")));
  EXPECT_THAT(Refusal(Batch(1, "", "asm")),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
  EXPECT_THAT(Refusal(Batch(1, "speical")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("special")));
}

TEST_F(TableHandlerTest, ARouterThatStopsAnswersNoBatch) {
  lifecycle_.StartRefusing();
  EXPECT_THAT(Refusal(Batch(1)), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("stopping")));
}

TEST_F(TableHandlerTest, AllKeysAreAnsweredFromTheTableThatTheFirstOnesWere) {
  const auto before = Table("ams");
  const grpc::ByteBuffer request = ToByteBuffer(Batch(2000));
  grpc::ByteBuffer nothing;
  handler_.StartBatch(request, std::chrono::steady_clock::now());
  ASSERT_EQ(handler_.ContinueBatch(nothing), std::nullopt);
  ASSERT_THAT(Set("ams", Share::kMaxPpm), IsOk());
  // Calls beside it have the new one.
  v1::RouteRequest route;
  route.set_data_center("ams");
  route.set_key("key");
  v1::RouteResponse route_response;
  ASSERT_THAT(AnswerRoute(handler_, route, route_response), IsOk());
  EXPECT_EQ(route_response.ring_version(), v1::RING_VERSION_V2);

  v1::RouteBatchResponse response;
  ASSERT_THAT(EndBatch(response), IsOk());
  EXPECT_THAT(response.ring_versions(), ::testing::Each(v1::RING_VERSION_V1));
  EXPECT_EQ(response.table().v2_ppm(), 0);
  EXPECT_EQ(response.table().migration_revision(), before->migration().revision);
}

TEST_F(TableHandlerTest, BetweenCallsItKeepsNoTable) {
  std::weak_ptr<const RoutingTable> old = Table("ams");
  v1::RouteBatchResponse response;
  ASSERT_THAT(Answer(Batch(1000), response), IsOk());
  v1::RouteBatchRequest bad = Batch(1000);
  bad.set_keys(999, "");
  EXPECT_THAT(Answer(bad, response), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("")));
  ASSERT_THAT(Set("ams", 1), IsOk());
  EXPECT_TRUE(old.expired());
}

TEST_F(TableHandlerTest, KeysAreCountedByTheRingThatAnswered) {
  ASSERT_THAT(Set("ams", 400'000), IsOk());
  v1::RouteBatchResponse response;
  ASSERT_THAT(Answer(Batch(3000, "special"), response), IsOk());
  const auto v2 = std::count(response.ring_versions().begin(), response.ring_versions().end(),
                             v1::RING_VERSION_V2);
  EXPECT_GT(v2, 1000);
  EXPECT_EQ(Routes("ams/special/v1"), static_cast<double>(3000 - v2));
  EXPECT_EQ(Routes("ams/special/v2"), static_cast<double>(v2));
  EXPECT_EQ(Routes("ams/default/v1"), 0);
  EXPECT_EQ(Calls("RouteBatch"), 1);
  EXPECT_EQ(Calls("Route"), 0);
}

TEST_F(TableHandlerTest, TheKeysOfARefusedBatchAreErrorsAndNotRoutes) {
  v1::RouteBatchRequest bad = Batch(2000);
  bad.set_keys(1999, "");
  EXPECT_FALSE(Refusal(bad).ok());
  EXPECT_FALSE(Refusal(Batch(0)).ok());
  EXPECT_FALSE(Refusal(Batch(5, "", "nowhere")).ok());
  EXPECT_EQ(Routes("ams/default/v1"), 0);
  EXPECT_EQ(Errors("ams/INVALID_ARGUMENT"), 2001);
  EXPECT_EQ(Errors("other/NOT_FOUND"), 5);
  EXPECT_EQ(Calls("RouteBatch"), 3);
}

TEST_F(TableHandlerTest, ABatchOfFarTooManyKeysIsNoMoreErrorsThanTheLargestOne) {
  v1::RouteBatchResponse response;
  EXPECT_THAT(Answer(Batch(50'000), response),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("50000")));
  EXPECT_EQ(Errors("ams/INVALID_ARGUMENT"), 10'000);
}

// In an overload they would be most calls, and quick.
TEST_F(TableHandlerTest, WhatTheQueueRefusedIsAnErrorWithoutADuration) {
  handler_.CountRefused(absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Errors("other/RESOURCE_EXHAUSTED"), 1);
  EXPECT_EQ(Calls("Route"), 0);
  EXPECT_EQ(Calls("RouteBatch"), 0);
  // It is a call all the same, which tells a router that drains that some still come.
  EXPECT_EQ(metrics_.Calls(), 1);
}

TEST_F(TableHandlerTest, BytesThatAreNoRequestAreInvalidAndCountedAsRefused) {
  const grpc::ByteBuffer bytes = ToByteBuffer(std::string("\xFF\xFF\xFF"));
  grpc::ByteBuffer route_response;
  EXPECT_THAT(handler_.Route(bytes, std::chrono::steady_clock::now(), route_response),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bytes of the request are no ringshift.v1.RouteRequest")));
  v1::RouteBatchResponse batch_response;
  EXPECT_THAT(AnswerBytes(bytes, batch_response),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("bytes of the request are no ringshift.v1.RouteBatchRequest")));
  EXPECT_EQ(Errors("other/INVALID_ARGUMENT"), 2);
  EXPECT_EQ(Calls("Route"), 0);
  EXPECT_EQ(Calls("RouteBatch"), 0);
  EXPECT_EQ(metrics_.Calls(), 2);
  EXPECT_THAT(Answer(Batch(3), batch_response), IsOk());
  EXPECT_EQ(batch_response.node_indexes_size(), 3);
}

TEST_F(TableHandlerTest, AnErrorOfARouteIsItsDataCentersOrThatOfAllOthers) {
  v1::RouteRequest request;
  v1::RouteResponse response;
  request.set_data_center("ams");
  EXPECT_THAT(AnswerRoute(handler_, request, response),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("key is empty")));
  request.set_data_center("nowhere");
  request.set_key("key");
  EXPECT_THAT(AnswerRoute(handler_, request, response),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_EQ(Errors("ams/INVALID_ARGUMENT"), 1);
  EXPECT_EQ(Errors("other/NOT_FOUND"), 1);
  EXPECT_EQ(Calls("Route"), 2);
}

TEST_F(TableHandlerTest, WithoutMetricsItAnswersAllTheSame) {
  TableHandler uncounted(lifecycle_, directory_, nullptr);
  v1::RouteRequest request;
  request.set_data_center("ams");
  request.set_key("key");
  v1::RouteResponse response;
  EXPECT_THAT(AnswerRoute(uncounted, request, response), IsOk());
  request.set_data_center("nowhere");
  EXPECT_THAT(AnswerRoute(uncounted, request, response),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  uncounted.CountRefused(absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(metrics_.Calls(), 0);
}

// A smaller data center after a larger one, and the other way round, on one handler.
TEST_F(TableHandlerTest, DataCentersOfAnySizeFollowEachOther) {
  DataCenterSpec large = SmallDataCenter("large");
  large.nodes.clear();
  for (int i = 0; i < 300; ++i) {
    NodeSpec node;
    node.name = "l" + std::to_string(i);
    node.address = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ":443";
    node.weight = 10;
    node.features = {"special"};
    large.nodes.push_back(node);
  }
  ASSERT_THAT(controller_.Adopt(Built(large), {}, testing::Allow), IsOk());
  for (const std::string name : {"ams", "large", "new", "large", "ams"}) {
    v1::RouteBatchResponse response;
    ASSERT_THAT(Answer(Batch(2000, "", name), response), IsOk());
    const auto table = Table(name);
    for (int i = 0; i < 2000; ++i) {
      ASSERT_EQ(response.nodes(response.node_indexes(i)).name(), Owner(*table, i)) << name << i;
    }
  }
}

}  // namespace
}  // namespace ringshift
