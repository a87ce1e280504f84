#include "server/topology_controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "routing/topology_writer.h"
#include "server/topology_file.h"
#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/memory_store.h"
#include "tests/unit/server/small_router.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::MemoryStore;
using ::ringshift::testing::OrderFor;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

using Change = TopologyController::Change;
using Outcome = Change::Outcome;
using Result = TopologyController::Result;

// A router's state without listeners and threads.
struct Router {
  Router(const TempDir& dir, MigrationStore& store, std::vector<std::string> data_centers = {},
         std::function<void()> pause_between_reads = nullptr)
      : migrations(store, directory, {data_centers}),
        topology({dir.File("topology.yaml"),
                  std::move(data_centers),
                  {},
                  SystemWallTime,
                  std::move(pause_between_reads)},
                 store, migrations, directory, metrics) {
    EXPECT_THAT(migrations.Load(), IsOk());
  }

  std::shared_ptr<const DataCenter> Served(std::string_view name) const {
    const auto table = directory.Find(name);
    return table.ok() ? (*table)->shared_data_center() : nullptr;
  }
  std::uint64_t Count(Result result) const {
    return topology.counts()[static_cast<std::size_t>(result)];
  }
  absl::StatusOr<std::vector<Change>> Reload() {
    return topology.Reload(ReloadTrigger::kCall, "me");
  }
  // The one that is of data center `name`.
  Change ReloadOf(const std::string& name) {
    const absl::StatusOr<std::vector<Change>> changes = Reload();
    EXPECT_THAT(changes, IsOk());
    if (changes.ok()) {
      for (const Change& change : *changes) {
        if (change.data_center == name) return change;
      }
    }
    ADD_FAILURE() << "no change of " << name;
    return {};
  }

  RoutingDirectory directory;
  MigrationController migrations;
  RouteMetrics metrics;
  TopologyController topology;
};

// Data centers of 20 nodes, so that one of them is 5 % of the key space.
DataCenterSpec BigDataCenter(const std::string& name) {
  DataCenterSpec spec = SmallDataCenter(name);
  spec.nodes.clear();
  for (int i = 10; i < 30; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = "10.0.0." + std::to_string(i) + ":443";
    node.weight = 50;
    node.features = {"special"};
    spec.nodes.push_back(node);
  }
  return spec;
}

class TopologyControllerTest : public ::testing::Test {
 protected:
  // Returns its checksum.
  std::string Write(const std::vector<DataCenterSpec>& specs) {
    return WriteText(WriteTopology({specs}));
  }
  std::string WriteText(const std::string& text) {
    dir_.Write("topology.yaml", text);
    return TopologyChecksum(text);
  }

  // Files in which `ams` lacks its first `count` nodes.
  std::string WriteWithout(std::size_t count, std::vector<DataCenterSpec> more = {}) {
    DataCenterSpec spec = ams_;
    spec.nodes.erase(spec.nodes.begin(), spec.nodes.begin() + static_cast<std::ptrdiff_t>(count));
    more.push_back(spec);
    return Write(more);
  }

  std::optional<StoredTopology> Stored(const std::string& name) {
    const std::vector<StoredTopology> topologies = store_.LoadTopologies().value();
    for (const StoredTopology& stored : topologies) {
      if (stored.data_center == name) return stored;
    }
    return std::nullopt;
  }

  void SetShare(Router& router, const std::string& name, std::int64_t ppm) {
    ASSERT_THAT(router.migrations.SetShare(OrderFor(name), Share::FromPpm(ppm).value(), {}),
                IsOk());
  }

  TempDir dir_;
  MemoryStore store_;
  const DataCenterSpec ams_ = BigDataCenter("ams");
  const DataCenterSpec fra_ = SmallDataCenter("fra");
};

TEST_F(TopologyControllerTest, TheFirstStartServesTheFileAsItIsAndStoresIt) {
  const std::string checksum = Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  EXPECT_EQ(router.Served("ams")->spec(), ams_);
  EXPECT_EQ(router.Served("fra")->spec(), fra_);
  EXPECT_EQ(Stored("fra")->text, WriteTopology({{fra_}}));
  const TopologyController::Status status = router.topology.status();
  EXPECT_EQ(status.checksum, checksum);
  EXPECT_EQ(status.last_trigger, ReloadTrigger::kStart);
  EXPECT_THAT(status.last_error, IsOk());
  EXPECT_TRUE(status.last_success.has_value());
  EXPECT_EQ(status.generation, 1);
  EXPECT_EQ(status.store_error, "");
  EXPECT_EQ(router.Count(Result::kApplied), 1u);
}

TEST_F(TopologyControllerTest, TheFirstStartNeedsAGoodFile) {
  EXPECT_THAT(Router(dir_, store_).topology.Start(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("topology.yaml")));
  WriteText("data_centers: 7\n");
  EXPECT_THAT(Router(dir_, store_).topology.Start(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("topology.yaml:1:")));
}

TEST_F(TopologyControllerTest, TheSameFileKeepsEveryTable) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const auto before = router.directory.Tables();
  const Change change = router.ReloadOf("ams");
  EXPECT_EQ(change.outcome, Outcome::kUnchanged);
  EXPECT_EQ(change.nodes.after, 20u);
  EXPECT_EQ(router.directory.Tables(), before);
  EXPECT_EQ(router.Count(Result::kUnchanged), 1u);
  EXPECT_EQ(router.topology.status().generation, 1);
}

TEST_F(TopologyControllerTest, ASmallChangeIsTakenUpAndStoredWithItsFigures) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const auto fra = router.Served("fra");
  const std::string checksum = WriteWithout(1, {fra_});
  const Change change = router.ReloadOf("ams");
  EXPECT_EQ(change.outcome, Outcome::kApplied);
  EXPECT_EQ(change.nodes.removed, 1u);
  EXPECT_EQ(router.Served("ams")->node_set().size(), 19u);
  EXPECT_EQ(router.Served("fra"), fra);
  EXPECT_EQ(router.topology.status().generation, 2);
  const std::vector<MigrationChange> history = store_.History({"ams", std::nullopt, 1}).value();
  ASSERT_EQ(history.size(), 1u);
  EXPECT_EQ(history[0].kind, ChangeKind::kTopology);
  EXPECT_EQ(history[0].actor, "me");
  EXPECT_THAT(history[0].detail, AllOf(HasSubstr("0 nodes added, 1 removed"),
                                       HasSubstr("% of the key space"), HasSubstr(checksum)));
}

TEST_F(TopologyControllerTest, ABigChangeIsHeldWithItsFiguresUntilItIsAccepted) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const auto before = router.directory.Tables();
  const auto success = router.topology.status().last_success;

  const std::string checksum = WriteWithout(3, {fra_});
  const Change change = router.ReloadOf("ams");
  EXPECT_EQ(change.outcome, Outcome::kHeld);
  EXPECT_THAT(change.reason, AllOf(HasSubstr("drops 3 of 20 nodes"), HasSubstr("above 10%")));
  EXPECT_EQ(change.nodes.removed, 3u);
  EXPECT_GT(change.difference->pools.front().v1, 0.1);
  EXPECT_EQ(router.directory.Tables(), before);
  EXPECT_EQ(Stored("ams")->text, WriteTopology({{ams_}}));
  TopologyController::Status status = router.topology.status();
  EXPECT_THAT(status.held, ElementsAre(Field(&Change::data_center, "ams")));
  EXPECT_EQ(status.last_success, success);
  EXPECT_EQ(status.generation, 1);
  EXPECT_EQ(router.Count(Result::kHeld), 1u);

  ASSERT_THAT(router.topology.Accept(checksum, {}, "her", "planned"), IsOk());
  EXPECT_EQ(router.Served("ams")->node_set().size(), 17u);
  EXPECT_EQ(Stored("ams")->text, WriteTopology({{router.Served("ams")->spec()}}));
  EXPECT_EQ(Stored("ams")->actor, "her");
  EXPECT_EQ(Stored("ams")->reason, "planned");
  status = router.topology.status();
  EXPECT_THAT(status.held, IsEmpty());
  EXPECT_EQ(status.generation, 2);
  EXPECT_GE(status.last_success, success);
}

TEST_F(TopologyControllerTest, AcceptingNamesWhatIsHeldAndNothingElse) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const std::string served = router.topology.status().checksum;
  EXPECT_THAT(router.topology.Accept(served, {}, "me", ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing is held")));

  const std::string checksum = WriteWithout(3);  // `fra` is gone
  ASSERT_THAT(router.Reload(), IsOk());
  EXPECT_THAT(router.topology.Accept(served, {}, "me", ""),
              StatusIs(absl::StatusCode::kAborted, AllOf(HasSubstr(checksum), HasSubstr(served))));
  EXPECT_THAT(router.topology.Accept(checksum, {"ams", "cdg"}, "me", ""),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("cdg"), HasSubstr("fra"))));
  EXPECT_EQ(router.Served("ams")->node_set().size(), 20u);

  ASSERT_THAT(router.topology.Accept(checksum, {"ams"}, "me", ""), IsOk());
  EXPECT_EQ(router.Served("ams")->node_set().size(), 17u);
  EXPECT_NE(router.Served("fra"), nullptr);
  EXPECT_THAT(router.topology.status().held, ElementsAre(Field(&Change::data_center, "fra")));
  ASSERT_THAT(router.topology.Accept(checksum, {"fra"}, "me", ""), IsOk());
  EXPECT_EQ(router.Served("fra"), nullptr);
}

TEST_F(TopologyControllerTest, ADataCenterThatIsGoneIsHeldThenOrphanedAndComesBackWithItsShare) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  SetShare(router, "fra", 375'000);

  const std::string checksum = Write({ams_});
  const Change change = router.ReloadOf("fra");
  EXPECT_EQ(change.outcome, Outcome::kHeld);
  EXPECT_EQ(change.nodes.removed, 3u);
  EXPECT_EQ(change.nodes.after, 0u);
  EXPECT_THAT(change.reason, HasSubstr("does not list it any more"));
  EXPECT_NE(router.Served("fra"), nullptr);

  ASSERT_THAT(router.topology.Accept(checksum, {}, "me", ""), IsOk());
  EXPECT_EQ(router.Served("fra"), nullptr);
  EXPECT_EQ(Stored("fra"), std::nullopt);
  const auto orphan = router.migrations.Find("fra");
  ASSERT_THAT(orphan, IsOk());
  EXPECT_EQ(orphan->table, nullptr);
  EXPECT_EQ(orphan->migration.share.ppm(), 375'000);

  Write({ams_, fra_});
  EXPECT_EQ(router.ReloadOf("fra").outcome, Outcome::kApplied);
  EXPECT_EQ(router.directory.Find("fra").value()->share().ppm(), 375'000);
}

TEST_F(TopologyControllerTest, ParametersUnderARingThatAnswersAreRefusedWithTheWholeFile) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  SetShare(router, "ams", 500'000);
  DataCenterSpec changed = ams_;
  changed.v2.points_per_weight = 32;
  DataCenterSpec fra = fra_;
  fra.tier = "large";
  Write({changed, fra});
  EXPECT_THAT(router.Reload(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        AllOf(HasSubstr("ams"), HasSubstr("16"), HasSubstr("32"))));
  EXPECT_EQ(router.Served("fra")->tier(), fra_.tier);
  EXPECT_EQ(router.topology.status().last_error.code(), absl::StatusCode::kFailedPrecondition);

  SetShare(router, "ams", 0);
  EXPECT_EQ(router.ReloadOf("ams").outcome, Outcome::kApplied);
  EXPECT_EQ(router.Served("ams")->v2()->ring->parameters().points_per_weight, 32u);
  EXPECT_EQ(router.Served("fra")->tier(), "large");
}

TEST_F(TopologyControllerTest, NothingIsAcceptedThatTheFileDoesNotHaveAnyMore) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const std::string checksum = WriteWithout(3);
  ASSERT_EQ(router.ReloadOf("ams").outcome, Outcome::kHeld);
  const std::string newer = WriteWithout(4);  // nobody has read it yet
  EXPECT_THAT(router.topology.Accept(checksum, {}, "me", ""),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("whose checksum is " + newer)));
  std::filesystem::remove(dir_.File("topology.yaml"));
  EXPECT_THAT(router.topology.Accept(checksum, {}, "me", ""),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("which cannot be read")));
  EXPECT_EQ(router.Served("ams")->node_set().size(), 20u);
  WriteWithout(3);
  EXPECT_THAT(router.topology.Accept(checksum, {}, "me", ""), IsOk());
}

TEST_F(TopologyControllerTest, AHeldChangeIsJudgedAgainAtTheShareOfItsAcceptance) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  DataCenterSpec changed = ams_;
  changed.v2.points_per_weight = 32;
  changed.nodes.erase(changed.nodes.begin(), changed.nodes.begin() + 3);
  const std::string checksum = Write({changed});
  ASSERT_EQ(router.ReloadOf("ams").outcome, Outcome::kHeld);
  SetShare(router, "ams", 1);
  EXPECT_THAT(router.topology.Accept(checksum, {}, "me", ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("32")));
  EXPECT_EQ(router.Served("ams")->node_set().size(), 20u);
  EXPECT_EQ(router.topology.status().held.size(), 1u);
}

TEST_F(TopologyControllerTest, OnlyWhatAnswersCountsForWhatMoves) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  // A v2 of other points has other owners nearly everywhere, but answers nobody.
  DataCenterSpec changed = ams_;
  changed.v2.points_per_weight = 100;
  Write({changed});
  const Change change = router.ReloadOf("ams");
  EXPECT_EQ(change.outcome, Outcome::kApplied);
  EXPECT_GT(change.difference->pools.front().v2, 0.1);
  EXPECT_EQ(change.difference->Worst(change.share).Moved(change.share), 0);
}

TEST_F(TopologyControllerTest, ABadFileIsRefusedAndNothingIsHeldAnyMore) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const auto before = router.directory.Tables();
  const std::string held = WriteWithout(5, {fra_});
  ASSERT_THAT(router.Reload(), IsOk());

  const std::string bad = WriteText("data_centers: []\nmore: 1\n");
  EXPECT_THAT(router.Reload(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("topology.yaml:")));
  TopologyController::Status status = router.topology.status();
  EXPECT_EQ(status.checksum, bad);
  EXPECT_THAT(status.last_error, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(":")));
  EXPECT_THAT(status.held, IsEmpty());
  EXPECT_EQ(router.directory.Tables(), before);
  EXPECT_EQ(router.Count(Result::kFailed), 1u);
  EXPECT_THAT(router.topology.Accept(held, {}, "me", ""),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing is held")));

  ASSERT_EQ(std::remove(dir_.File("topology.yaml").c_str()), 0);
  EXPECT_THAT(router.Reload(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("topology.yaml")));
  EXPECT_EQ(router.topology.status().checksum, "");
}

TEST_F(TopologyControllerTest, ARestartServesWhatWasServedWhereTheFileIsBadHeldOrGone) {
  Write({ams_, fra_});
  {
    Router router(dir_, store_);
    ASSERT_THAT(router.topology.Start(), IsOk());
  }
  const std::string checksum = WriteWithout(3, {fra_});
  for (const char* file : {"held", "bad", "gone"}) {
    if (std::string(file) == "bad") WriteText("no topology\n");
    if (std::string(file) == "gone") {
      ASSERT_EQ(std::remove(dir_.File("topology.yaml").c_str()), 0);
    }
    Router router(dir_, store_);
    ASSERT_THAT(router.topology.Start(), IsOk()) << file;
    EXPECT_EQ(router.Served("ams")->spec(), ams_) << file;
    EXPECT_EQ(router.Served("fra")->spec(), fra_) << file;
    const TopologyController::Status status = router.topology.status();
    EXPECT_EQ(status.held.size(), std::string(file) == "held" ? 1u : 0u) << file;
    EXPECT_EQ(status.last_error.ok(), std::string(file) == "held") << file;
    EXPECT_EQ(status.last_success, std::nullopt) << file;
    EXPECT_EQ(status.generation, 0) << file;
  }
}

TEST_F(TopologyControllerTest, ARestartTakesUpASmallChangeOfTheFile) {
  Write({ams_, fra_});
  {
    Router router(dir_, store_);
    ASSERT_THAT(router.topology.Start(), IsOk());
  }
  WriteWithout(1, {fra_, SmallDataCenter("new")});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  EXPECT_EQ(router.Served("ams")->node_set().size(), 19u);
  EXPECT_NE(router.Served("new"), nullptr);
}

TEST_F(TopologyControllerTest, AStoredTextThatIsNoTopologyOfItsDataCenterIsDataLoss) {
  Write({ams_});
  ASSERT_THAT(store_.SaveTopology({"fra", "data_centers: 7\n", {}, "me", "", ""}), IsOk());
  EXPECT_THAT(
      Router(dir_, store_).topology.Start(),
      StatusIs(absl::StatusCode::kDataLoss, AllOf(HasSubstr("\"fra\""), HasSubstr("backup"))));
  ASSERT_THAT(store_.SaveTopology({"fra", WriteTopology({{ams_}}), {}, "me", "", ""}), IsOk());
  EXPECT_THAT(Router(dir_, store_).topology.Start(),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("of another data center")));
}

TEST_F(TopologyControllerTest, WhatARestartCouldNotReadIsNotServed) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  // In single quotes these take half of what they take in the store.
  std::string text =
      "data_centers: [{name: fra, identity_style: nginx, rings: {v1: none, v2: {points_per_weight: "
      "1}}, nodes: [";
  const std::string slashes(508, '\\');
  for (int i = 0; i < 65'536; ++i) {
    char number[8];
    std::snprintf(number, sizeof number, "%04x", i);
    text += "{name: n" + std::string(number) + ", address: '" + slashes + number + "'},";
  }
  text += "]}]";
  WriteText(text);
  const auto refused = router.ReloadOf("fra");
  EXPECT_EQ(refused.outcome, Outcome::kFailed);
  EXPECT_EQ(refused.code, absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.reason, HasSubstr("at most 67108864"));
  EXPECT_EQ(router.Served("fra"), nullptr);
}

TEST_F(TopologyControllerTest, AStoreThatIsDownDoesNotStopAReloadAndCatchesUp) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  store_.FailWritesWith(absl::UnavailableError("disk full"));
  DataCenterSpec fra = fra_;
  fra.tier = "large";
  WriteWithout(1, {fra});
  EXPECT_EQ(router.ReloadOf("ams").outcome, Outcome::kApplied);
  EXPECT_EQ(router.Served("fra")->tier(), "large");
  EXPECT_THAT(router.topology.status().store_error,
              AllOf(HasSubstr("ams"), HasSubstr("disk full")));
  router.topology.SavePending();
  EXPECT_THAT(router.topology.status().store_error,
              AllOf(HasSubstr("ams and 1 more"), HasSubstr("disk full")));
  EXPECT_EQ(Stored("fra")->text, WriteTopology({{fra_}}));

  store_.FailWritesWith(absl::OkStatus());
  router.topology.SavePending();
  EXPECT_EQ(router.topology.status().store_error, "");
  EXPECT_EQ(Stored("fra")->text, WriteTopology({{fra}}));
  EXPECT_EQ(Stored("ams")->text, WriteTopology({{router.Served("ams")->spec()}}));
}

TEST_F(TopologyControllerTest, ANewDataCenterNeedsTheStoreTheOthersGoOn) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  store_.FailWritesWith(absl::UnavailableError("disk full"));
  WriteWithout(1, {fra_, SmallDataCenter("aaa")});
  const absl::StatusOr<std::vector<Change>> changes = router.Reload();
  ASSERT_THAT(changes, IsOk());
  EXPECT_EQ((*changes)[0].outcome, Outcome::kFailed);
  EXPECT_THAT((*changes)[0].reason, HasSubstr("disk full"));
  EXPECT_EQ((*changes)[1].outcome, Outcome::kApplied);
  EXPECT_EQ(router.Served("aaa"), nullptr);
  EXPECT_EQ(router.Count(Result::kFailed), 1u);
  EXPECT_THAT(router.topology.status().last_error,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("disk full")));

  store_.FailWritesWith(absl::OkStatus());
  EXPECT_EQ(router.ReloadOf("aaa").outcome, Outcome::kApplied);
  EXPECT_THAT(router.topology.status().last_error, IsOk());
}

TEST_F(TopologyControllerTest, DataCentersThatAreNotSelectedAreNothingToIt) {
  Write({ams_, fra_});
  {
    Router router(dir_, store_);
    ASSERT_THAT(router.topology.Start(), IsOk());
  }
  Router router(dir_, store_, {"ams"});
  ASSERT_THAT(router.topology.Start(), IsOk());
  EXPECT_EQ(router.Served("fra"), nullptr);
  Write({ams_});
  EXPECT_EQ(router.Reload().value().size(), 1u);
  EXPECT_THAT(router.topology.status().held, IsEmpty());
  EXPECT_NE(Stored("fra"), std::nullopt);
}

TEST_F(TopologyControllerTest, ASelectedDataCenterThatNobodyKnowsFailsTheFirstStart) {
  Write({ams_, fra_});
  EXPECT_THAT(Router(dir_, store_, {"ams", "asm"}).topology.Start(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("--data-centers"), HasSubstr("asm"), HasSubstr("fra"))));
}

TEST_F(TopologyControllerTest, ASelectedDataCenterThatIsGoneFailsNoLaterReload) {
  Write({ams_, fra_});
  Router router(dir_, store_, {"ams", "fra"});
  ASSERT_THAT(router.topology.Start(), IsOk());
  const std::string checksum = Write({ams_});
  ASSERT_THAT(router.Reload(), IsOk());
  ASSERT_THAT(router.topology.Accept(checksum, {}, "me", ""), IsOk());
  EXPECT_THAT(router.Reload(), IsOk());
  EXPECT_THAT(Router(dir_, store_, {"ams", "fra"}).topology.Start(), IsOk());
}

TEST_F(TopologyControllerTest, AFileThatGoesBackIsNotHeldAnyMore) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  WriteWithout(5, {fra_});
  ASSERT_EQ(router.ReloadOf("ams").outcome, Outcome::kHeld);
  Write({ams_, fra_});
  ASSERT_EQ(router.ReloadOf("ams").outcome, Outcome::kUnchanged);
  EXPECT_THAT(router.topology.status().held, IsEmpty());
}

TEST_F(TopologyControllerTest, NodesThatOnlyGetOtherNamesKeepTheRings) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  const auto ring = router.Served("ams")->v1()->ring;
  DataCenterSpec renamed = ams_;
  renamed.nodes[0].name = "other";
  Write({renamed});
  EXPECT_EQ(router.ReloadOf("ams").outcome, Outcome::kApplied);
  EXPECT_EQ(router.Served("ams")->v1()->ring, ring);
}

TEST_F(TopologyControllerTest, WhatWasAcceptedWhileTheStoreWasDownIsAllInTheHistoryInOrder) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  store_.FailWritesWith(absl::UnavailableError("disk full"));
  for (const std::size_t without : {3u, 6u}) {
    const std::string checksum = WriteWithout(without, {fra_});
    ASSERT_EQ(router.ReloadOf("ams").outcome, Outcome::kHeld);
    ASSERT_THAT(router.topology.Accept(checksum, {}, "her", std::to_string(without)), IsOk());
  }
  Write({ams_, fra_});  // back to what is stored
  ASSERT_THAT(router.Reload(), IsOk());
  ASSERT_THAT(router.topology.Accept(router.topology.status().checksum, {}, "him", "back"), IsOk());
  EXPECT_THAT(router.topology.status().store_error, HasSubstr("the topology of ams: disk full"));

  store_.FailWritesWith(absl::OkStatus());
  router.topology.SavePending();
  EXPECT_EQ(router.topology.status().store_error, "");
  EXPECT_EQ(Stored("ams")->text, WriteTopology({{ams_}}));
  const std::vector<MigrationChange> history = store_.History({"ams", std::nullopt, 3}).value();
  EXPECT_THAT(history, ElementsAre(Field(&MigrationChange::reason, "back"),
                                   Field(&MigrationChange::reason, "6"),
                                   Field(&MigrationChange::reason, "3")));
}

TEST_F(TopologyControllerTest, OfTooManyChangesForAStoreThatIsDownTheNewestAreKept) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  store_.FailWritesWith(absl::UnavailableError("disk full"));
  DataCenterSpec ams = ams_;
  ams.tier = "other";
  DataCenterSpec fra = fra_;
  Write({ams, fra});
  ASSERT_THAT(router.Reload(), IsOk());
  constexpr std::size_t kMore = 10;
  for (std::size_t i = 0; i < TopologyController::kMaxPending + kMore; ++i) {
    fra.tier = "tier" + std::to_string(i);
    Write({ams, fra});
    ASSERT_EQ(router.ReloadOf("fra").outcome, Outcome::kApplied);
  }
  const std::int64_t before = store_.Export().value().last_revision;
  store_.FailWritesWith(absl::OkStatus());
  router.topology.SavePending();
  EXPECT_EQ(store_.Export().value().last_revision - before,
            static_cast<std::int64_t>(TopologyController::kMaxPending));
  EXPECT_EQ(Stored("fra")->text, WriteTopology({{fra}}));
  EXPECT_EQ(Stored("ams")->text, WriteTopology({{ams}}));
}

TEST_F(TopologyControllerTest, ANewDataCenterThatTheStoreDidNotTakeIsTakenUpOnceItDoes) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  store_.FailWritesWith(absl::UnavailableError("disk full"));
  const std::string checksum = Write({ams_, fra_});
  const Change change = router.ReloadOf("fra");
  EXPECT_EQ(change.outcome, Outcome::kFailed);
  EXPECT_EQ(change.code, absl::StatusCode::kUnavailable);
  router.topology.RetryFailed();
  EXPECT_EQ(router.Served("fra"), nullptr);
  EXPECT_EQ(router.Count(Result::kFailed), 1u);

  // Another content is the watcher's.
  WriteText("being written");
  store_.FailWritesWith(absl::OkStatus());
  router.topology.RetryFailed();
  EXPECT_EQ(router.topology.status().checksum, checksum);

  Write({ams_, fra_});
  router.topology.RetryFailed();
  ASSERT_NE(router.Served("fra"), nullptr);
  EXPECT_THAT(router.topology.status().last_error, IsOk());
  EXPECT_EQ(Stored("fra")->actor, "me");
  router.topology.RetryFailed();
  EXPECT_EQ(router.Count(Result::kUnchanged), 0u);
}

TEST_F(TopologyControllerTest, AFailureThatIsNotTheStoresIsNotRetried) {
  Write({ams_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  WriteText("no topology\n");
  EXPECT_THAT(router.Reload(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(":")));
  router.topology.RetryFailed();
  EXPECT_EQ(router.Count(Result::kFailed), 1u);
}

TEST_F(TopologyControllerTest, AFileThatIsBeingWrittenIsTakenUpWholeAtTheStartAndByACall) {
  Write({ams_, fra_});
  std::string rest;
  const auto write_rest = [&] {
    if (!rest.empty()) WriteText(std::exchange(rest, ""));
  };
  const auto write_half = [&] {
    rest = WriteTopology({{ams_, fra_}});
    Write({ams_});  // a half that would do
  };
  write_half();
  const TopologyController::Options options{
      dir_.File("topology.yaml"), {"fra"}, {}, SystemWallTime, write_rest};
  EXPECT_THAT(TopologyController::CheckFirstFile(options), IsOk());

  Router router(dir_, store_, {}, write_rest);
  write_half();
  ASSERT_THAT(router.topology.Start(), IsOk());
  EXPECT_NE(router.Served("fra"), nullptr);
  write_half();
  EXPECT_EQ(router.ReloadOf("fra").outcome, Outcome::kUnchanged);
  EXPECT_THAT(router.topology.status().held, IsEmpty());
}

TEST_F(TopologyControllerTest, AFileThatKeepsChangingIsRefused) {
  Write({ams_});
  DataCenterSpec ams = ams_;
  bool is_changing = false;
  Router router(dir_, store_, {}, [&] {
    ams.tier += "x";
    if (is_changing) Write({ams});
  });
  ASSERT_THAT(router.topology.Start(), IsOk());
  is_changing = true;
  EXPECT_THAT(router.Reload(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("is being written; try again")));
  EXPECT_EQ(router.topology.status().last_error.code(), absl::StatusCode::kAborted);
  EXPECT_EQ(router.Served("ams")->spec(), ams_);
}

TEST_F(TopologyControllerTest, ADataCenterThatComesBackWithoutV1IsSetToAllAndThenGivenAV1) {
  Write({ams_, fra_});
  Router router(dir_, store_);
  ASSERT_THAT(router.topology.Start(), IsOk());
  SetShare(router, "fra", 300'000);
  const std::string checksum = Write({ams_});
  ASSERT_THAT(router.Reload(), IsOk());
  ASSERT_THAT(router.topology.Accept(checksum, {}, "me", ""), IsOk());
  const DataCenterSpec without_v1 = SmallDataCenter("fra", /*has_v1=*/false);
  Write({ams_, without_v1});
  ASSERT_EQ(router.ReloadOf("fra").outcome, Outcome::kApplied);
  Write({ams_, fra_});
  EXPECT_THAT(router.Reload(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                        HasSubstr("set the share to 100% first")));
  SetShare(router, "fra", 1'000'000);
  EXPECT_EQ(router.ReloadOf("fra").outcome, Outcome::kApplied);
  EXPECT_NE(router.Served("fra")->v1(), nullptr);
  EXPECT_EQ(router.directory.Find("fra").value()->share(), Share::All());
}

}  // namespace
}  // namespace ringshift
