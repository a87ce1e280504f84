#include "server/watch_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>

#include "ringshift/v1/migration.pb.h"
#include "ringshift/v1/routing.pb.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::SmallRouterTest;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

class WatchStatesTest : public SmallRouterTest {
 protected:
  template <typename Response>
  static Response Read(ChangeFeed::Reader& reader) {
    Response response;
    const std::optional<ChangeFeed::News> news =
        reader.Next(std::numeric_limits<std::size_t>::max());
    if (!news) return response;
    for (const ChangeFeed::State& state : news->states) {
      EXPECT_TRUE(response.MergeFromString(*state));
    }
    for (const std::string& name : news->removed) response.add_removed(name);
    return response;
  }
  // Share by data center.
  std::map<std::string, int> ReadRouting() {
    std::map<std::string, int> shares;
    const auto response = Read<v1::WatchRoutingResponse>(routing_);
    for (const v1::RoutingState& state : response.data_centers()) {
      shares[state.data_center()] = state.table().v2_ppm();
    }
    for (const std::string& name : response.removed()) shares[name] = -1;
    return shares;
  }
  std::map<std::string, int> ReadMigrations() {
    std::map<std::string, int> shares;
    const auto response = Read<v1::WatchMigrationsResponse>(migrations_);
    for (const v1::Migration& migration : response.migrations()) {
      shares[migration.data_center()] = migration.v2_ppm();
    }
    for (const std::string& name : response.removed()) shares[name] = -1;
    return shares;
  }

  WatchStates states_{directory_, controller_};
  ChangeFeed::Reader routing_{states_.routing(), {}, ""};
  ChangeFeed::Reader migrations_{states_.migrations(), {}, ""};
};

TEST_F(WatchStatesTest, TheFirstLookFindsAllThatIs) {
  Adopt();
  const WatchStates::Changes changes = states_.Look();
  EXPECT_TRUE(changes.routing);
  EXPECT_TRUE(changes.migrations);
  EXPECT_THAT(ReadRouting(), UnorderedElementsAre(Pair("ams", 0), Pair("new", 1'000'000)));
  EXPECT_THAT(ReadMigrations(), UnorderedElementsAre(Pair("ams", 0), Pair("new", 1'000'000)));
}

TEST_F(WatchStatesTest, AShareThatChangesIsSeenAtTheNextLookAndNothingElse) {
  Adopt();
  states_.Look();
  ReadRouting();
  ReadMigrations();
  ASSERT_THAT(Set("ams", 5).status(), IsOk());
  const WatchStates::Changes changes = states_.Look();
  EXPECT_TRUE(changes.routing);
  EXPECT_TRUE(changes.migrations);
  EXPECT_THAT(ReadRouting(), ElementsAre(Pair("ams", 5)));
  EXPECT_THAT(ReadMigrations(), ElementsAre(Pair("ams", 5)));
}

TEST_F(WatchStatesTest, WhereNothingChangesNothingIsNew) {
  Adopt();
  states_.Look();
  for (int i = 0; i < 2 * WatchStates::kLooksAtUnserved; ++i) {
    const WatchStates::Changes changes = states_.Look();
    EXPECT_FALSE(changes.routing);
    EXPECT_FALSE(changes.migrations);
  }
  // Another table with the same answers.
  directory_.Publish(RoutingTable::Create(Table("ams")->shared_data_center(),
                                          Table("ams")->migration(), Table("ams")->state())
                         .value());
  EXPECT_FALSE(states_.Look().routing);
}

TEST_F(WatchStatesTest, ADataCenterThatComesOrGoesIsSeen) {
  Adopt();
  states_.Look();
  ReadRouting();
  ReadMigrations();
  ASSERT_THAT(SmallRouterTest::Adopt(SmallDataCenter("fra")), IsOk());
  controller_.Drop("ams");
  states_.Look();
  EXPECT_THAT(ReadRouting(), UnorderedElementsAre(Pair("ams", -1), Pair("fra", 0)));
  // Its migration is kept, as an orphan's.
  EXPECT_THAT(ReadMigrations(), UnorderedElementsAre(Pair("ams", 0), Pair("fra", 0)));
}

TEST_F(WatchStatesTest, AMigrationThatIsForgottenIsSeenSoon) {
  Adopt();
  controller_.Drop("ams");
  states_.Look();
  ReadMigrations();
  ForgetRequest request;
  request.data_center = "ams";
  request.actor = "me";
  ASSERT_THAT(controller_.Forget(request).status(), IsOk());
  for (int i = 0; i < WatchStates::kLooksAtUnserved; ++i) states_.Look();
  EXPECT_THAT(ReadMigrations(), ElementsAre(Pair("ams", -1)));
  EXPECT_THAT(ReadRouting(), ElementsAre(Pair("new", 1'000'000)));
  EXPECT_THAT(ReadRouting(), IsEmpty());
}

TEST_F(WatchStatesTest, CursorsOfAnotherStartOrFeedAreNotKnown) {
  Adopt();
  states_.Look();
  const std::string cursor = routing_.Next(1 << 20)->cursor;
  WatchStates restarted(directory_, controller_);
  restarted.Look();
  for (const ChangeFeed* feed : {&restarted.routing(), &states_.migrations()}) {
    ChangeFeed::Reader reader(*feed, {}, cursor);
    EXPECT_TRUE(reader.Next(1 << 20)->is_snapshot);
  }
}

}  // namespace
}  // namespace ringshift
