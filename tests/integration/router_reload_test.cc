// How a real router takes up a changed topology, holds it, refuses it, and remembers it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/locked_store.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Optional;

// A data center of nodes n100, n101, ..., of which `first` to `last` are there.
struct Nodes {
  std::string name = "ams";
  int first = 100;
  int last = 119;
  int weight = 10;              // of each
  int first_weight = 10;        // of the first one
  std::string more_lines = "";  // of the data center, with their indentation
};

std::string Topology(const std::vector<Nodes>& data_centers) {
  std::string yaml = "data_centers:\n";
  for (const Nodes& nodes : data_centers) {
    yaml += "  - name: " + nodes.name + "\n";
    yaml += nodes.more_lines;
    yaml += "    nodes:\n";
    for (int i = nodes.first; i <= nodes.last; ++i) {
      yaml += "      - {name: n" + std::to_string(i) + ", address: \"10.0.0." + std::to_string(i) +
              ":443\", weight: " +
              std::to_string(i == nodes.first ? nodes.first_weight : nodes.weight) + "}\n";
    }
  }
  return yaml;
}

const Nodes kAms;
const Nodes kFra = {.name = "fra"};

int CountOf(const std::string& text, const std::string& part) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++count;
  return count;
}

// The value of a metric; a test failure if it is not there.
double Metric(const RouterProcess& router, const std::string& series) {
  const std::string text = "\n" + router.Get("/metrics");
  const std::size_t at = text.find("\n" + series + " ");
  if (at == std::string::npos) {
    ADD_FAILURE() << "no " << series;
    return -1;
  }
  return std::stod(text.substr(at + series.size() + 2));
}

class ReloadTest : public ::testing::Test {
 protected:
  // Starts a router, or the next one after Kill.
  void Start(const std::vector<std::string>& flags = {}) {
    StartWithoutWaiting(flags);
    router_->WaitUntilReady();
  }
  void StartWithoutWaiting(const std::vector<std::string>& flags = {}) {
    router_ = std::make_unique<RouterProcess>(file_, dir_.File("state.db"), flags);
    client_ = std::make_unique<RouterClient>(*router_);
  }
  void Kill() {
    router_->process().Signal(SIGKILL);
    ASSERT_TRUE(router_->process().WaitForExit().has_value());
  }

  void Write(const std::string& text) { dir_.Write("topology.yaml", text); }
  void WriteAside(const std::string& text) {
    dir_.Write("next.yaml", text);
    std::filesystem::rename(dir_.File("next.yaml"), file_);
  }

  // All reloads that the router has done, but for refused ones.
  int Reloads() const {
    double reloads = 0;
    for (const char* result : {"unchanged", "applied", "held"}) {
      reloads += Metric(*router_,
                        std::string("ringshift_topology_reloads_total{result=\"") + result + "\"}");
    }
    return static_cast<int>(reloads);
  }
  std::int64_t Generation() const { return client_->Status().reload().generation(); }
  void WaitForGeneration(std::int64_t generation) const {
    client_->WaitFor([&](const v1::GetStatusResponse& status) {
      return status.reload().generation() >= generation;
    });
    EXPECT_EQ(Generation(), generation);
  }
  // Waits until ams has all of its 20 nodes, and the first one has this weight.
  void WaitForAms(int first_weight) const {
    v1::GetTopologyRequest request;
    request.set_data_center("ams");
    client_->WaitFor([&](const v1::GetStatusResponse&) {
      const auto response = client_->GetTopology(request);
      return response.ok() && response->nodes_size() == 20 &&
             response->nodes(0).weight() == first_weight;
    });
  }
  std::size_t NodesOf(const std::string& data_center) const {
    v1::GetTopologyRequest request;
    request.set_data_center(data_center);
    const auto response = client_->GetTopology(request);
    return response.ok() ? static_cast<std::size_t>(response->nodes_size()) : 0;
  }

  TempDir dir_;
  const std::string file_ = dir_.Write("topology.yaml", Topology({kAms, kFra}));
  std::unique_ptr<RouterProcess> router_;
  std::unique_ptr<RouterClient> client_;
};

TEST_F(ReloadTest, AFileChangeOfAnyKindIsTakenUpOnce) {
  // As Kubernetes mounts it: topology.yaml -> current/topology.yaml, current -> a folder.
  for (const char* folder : {"one", "two"}) std::filesystem::create_directory(dir_.File(folder));
  dir_.Write("one/topology.yaml", Topology({kAms, kFra}));
  std::filesystem::create_directory_symlink("one", dir_.File("current"));
  std::filesystem::remove(file_);
  std::filesystem::create_symlink("current/topology.yaml", file_);
  Start();
  ASSERT_EQ(Generation(), 1);

  // The weight of a node has two digits always, so the size is the same.
  Nodes nodes;
  const auto next = [&nodes] {
    ++nodes.first_weight;
    return Topology({nodes, kFra});
  };
  dir_.Write("two/topology.yaml", next());
  std::filesystem::create_directory_symlink("two", dir_.File("current.new"));
  std::filesystem::rename(dir_.File("current.new"), dir_.File("current"));
  WaitForGeneration(2);

  Write(next());  // in place, through the links
  WaitForGeneration(3);

  WriteAside(next());  // in place of the link
  WaitForGeneration(4);

  struct stat before {};
  ASSERT_EQ(::stat(file_.c_str(), &before), 0);
  Write(next());
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, file_.c_str(), times, 0), 0);
  struct stat after {};
  ASSERT_EQ(::stat(file_.c_str(), &after), 0);
  ASSERT_EQ(after.st_size, before.st_size);
  ASSERT_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
  WaitForGeneration(5);

  EXPECT_EQ(Reloads(), 5);
  EXPECT_EQ(client_->Status().reload().last_trigger(), v1::RELOAD_TRIGGER_FILE);
}

TEST_F(ReloadTest, AFileThatIsHalfWrittenIsTakenUpWhole) {
  Start();
  Nodes nodes;
  nodes.first_weight = 11;
  const std::string whole = Topology({nodes, kFra});
  // A half that would do for a topology.
  const auto begin = std::chrono::steady_clock::now();
  std::ofstream file(file_, std::ios::binary | std::ios::trunc);
  file << whole.substr(0, whole.find("      - {name: n119")) << std::flush;
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // is what is tested
  file << whole.substr(whole.find("      - {name: n119")) << std::flush;
  const auto taken = std::chrono::steady_clock::now() - begin;
  WaitForAms(11);
  // A half that has stood still for a second is a file.
  EXPECT_LE(Reloads(), taken < std::chrono::seconds(1) ? 2 : 3);
}

TEST_F(ReloadTest, OfManyRewritesTheLastOneIsServed) {
  Start();
  Nodes nodes;
  for (int i = 0; i < 20; ++i) {
    nodes.last = i % 2 == 0 ? 118 : 119;
    nodes.first_weight = 11 + i / 2;
    (i % 3 == 0) ? WriteAside(Topology({nodes, kFra})) : Write(Topology({nodes, kFra}));
  }
  WaitForAms(20);
  EXPECT_LE(Reloads(), 1 + 20);  // none twice
}

TEST_F(ReloadTest, AFileThatIsGoneChangesNothingAndIsSaidOnceAndShownUntilItIsBack) {
  Start();
  std::filesystem::remove(file_);
  client_->WaitFor([](const v1::GetStatusResponse& status) {
    return status.reload().last_error_code() == static_cast<int>(absl::StatusCode::kNotFound);
  });
  EXPECT_THAT(client_->Status().reload().last_error(), HasSubstr("topology.yaml"));
  EXPECT_EQ(NodesOf("ams"), 20u);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_last_reload_successful"), 0);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_reloads_total{result=\"failed\"}"), 1);

  Write(Topology({kAms, kFra}));
  client_->WaitFor(
      [](const v1::GetStatusResponse& status) { return status.reload().last_error_code() == 0; });
  EXPECT_EQ(Generation(), 1);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_last_reload_successful"), 1);
  EXPECT_EQ(CountOf(router_->process().Stderr(), "topology refused"), 1);
}

TEST_F(ReloadTest, AHangupSignalReloads) {
  Start();
  router_->process().Signal(SIGHUP);
  ASSERT_TRUE(router_->process().WaitForStderr("result=unchanged trigger=signal"));
  EXPECT_EQ(Metric(*router_, "ringshift_topology_reloads_total{result=\"unchanged\"}"), 1);
  Nodes nodes;
  nodes.first_weight = 11;
  nodes.last = 118;
  Write(Topology({nodes, kFra}));
  router_->process().Signal(SIGHUP);
  WaitForGeneration(2);
  const std::optional<std::string> line =
      router_->process().WaitForStderr("msg=\"data center changed\" data_center=ams nodes=19");
  ASSERT_TRUE(line);
  EXPECT_EQ(LogValue(*line, "added"), "0");
  EXPECT_EQ(LogValue(*line, "removed"), "1");
  EXPECT_EQ(LogValue(*line, "reweighted"), "1");
  EXPECT_EQ(LogValue(*line, "checksum"), client_->Status().reload().checksum());
  EXPECT_EQ(Metric(*router_, "ringshift_topology_reloads_total{result=\"applied\"}"), 2);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_generation"), 2);
  EXPECT_NE(Metric(*router_, "ringshift_topology_last_reload_success_timestamp_seconds"), 0);
}

TEST_F(ReloadTest, AHangupSignalWhileTheRouterStartsReloadsOnceItIsReady) {
  Write(Topology({{.first = 100, .last = 199, .weight = 1000, .first_weight = 1000}}));
  StartWithoutWaiting();
  router_->process().Signal(SIGHUP);
  EXPECT_TRUE(router_->process().WaitForStderr("result=unchanged trigger=signal"));
}

TEST_F(ReloadTest, ACallReloadsAndTheFileIsNotTakenUpASecondTime) {
  Start();
  Nodes nodes;
  int writes = 0;
  const auto write = [&] {
    ++nodes.first_weight;
    ++writes;
    Write(Topology({nodes, kFra}));
  };
  int late = 0;  // calls that found the file taken up: on a slow machine the watcher can be faster
  while (writes - late < 3) {
    write();
    const auto reloaded = client_->Reload("me");
    ASSERT_THAT(reloaded, IsOk());
    ASSERT_EQ(reloaded->changes_size(), 2);
    EXPECT_EQ(reloaded->changes(0).data_center(), "ams");
    EXPECT_EQ(reloaded->changes(1).outcome(), v1::RELOAD_OUTCOME_UNCHANGED);
    EXPECT_EQ(reloaded->status().generation(), 1 + writes);
    if (reloaded->changes(0).outcome() == v1::RELOAD_OUTCOME_UNCHANGED) {
      ++late;
      continue;
    }
    EXPECT_EQ(reloaded->changes(0).outcome(), v1::RELOAD_OUTCOME_APPLIED);
    EXPECT_EQ(reloaded->changes(0).nodes_reweighted(), 1);
  }
  // Time for the watcher to be wrong: it takes this one up.
  write();
  WaitForGeneration(1 + writes);
  EXPECT_EQ(Reloads(), 1 + writes + late);
  const auto history = client_->History("ams");
  ASSERT_THAT(history, IsOk());
  ASSERT_GE(history->changes_size(), 2);
  EXPECT_EQ(history->changes(1).kind(), v1::MIGRATION_CHANGE_KIND_TOPOLOGY);
  EXPECT_THAT(history->changes(1).actor(), HasSubstr("me ("));
  EXPECT_THAT(history->changes(1).detail(), HasSubstr("1 reweighted"));
}

TEST_F(ReloadTest, ABadFileIsRefusedWholeAndShown) {
  Start();
  const std::uint64_t before = client_->TableChecksum("ams");
  Write(Topology({{.last = 118}, kFra}) + "    tire: x\n");
  const auto refused = client_->Reload();
  EXPECT_THAT(refused, StatusIs(absl::StatusCode::kInvalidArgument,
                                AllOf(HasSubstr("topology.yaml:45:"), HasSubstr("tire"))));
  EXPECT_EQ(client_->TableChecksum("ams"), before);
  const v1::ReloadStatus status = client_->Status().reload();
  EXPECT_EQ(status.last_error_code(), static_cast<int>(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(status.last_error(), refused.status().message());
  EXPECT_EQ(status.generation(), 1);
  EXPECT_GE(Metric(*router_, "ringshift_topology_reloads_total{result=\"failed\"}"), 1);
  EXPECT_TRUE(router_->process().WaitForStderr("level=error msg=\"topology refused"));
}

TEST_F(ReloadTest, TheSameFileMovesNoKeyAndKeepsTheParameters) {
  Nodes ams;
  ams.more_lines = "    rings: {v2: {points_per_weight: 1000}}\n";
  Write(Topology({ams}));
  Start();
  ASSERT_THAT(client_->SetShare("ams", 500'000), IsOk());
  const auto owners = client_->Owners("ams", 10'000);
  const std::uint64_t checksum = client_->TableChecksum("ams");
  ASSERT_THAT(client_->Reload(), IsOk());
  EXPECT_EQ(client_->Owners("ams", 10'000), owners);
  EXPECT_EQ(client_->TableChecksum("ams"), checksum);
  const auto listed = client_->ListDataCenters();
  ASSERT_THAT(listed, IsOk());
  EXPECT_EQ(listed->data_centers(0).rings(1).points_per_weight(), 1000);
}

TEST_F(ReloadTest, ABigChangeIsHeldWithOneSetOfFiguresUntilItIsAccepted) {
  Start();
  const auto owners = client_->Owners("ams", 500);
  Write(Topology({{.last = 116}, kFra}));
  const v1::ReloadStatus held = client_
                                    ->WaitFor([](const v1::GetStatusResponse& status) {
                                      return status.reload().held_size() > 0;
                                    })
                                    .reload();
  ASSERT_EQ(held.held_size(), 1);
  const v1::TopologyChange& change = held.held(0);
  EXPECT_EQ(change.data_center(), "ams");
  EXPECT_EQ(change.outcome(), v1::RELOAD_OUTCOME_HELD);
  EXPECT_EQ(change.nodes_before(), 20);
  EXPECT_EQ(change.nodes_after(), 17);
  EXPECT_EQ(change.nodes_removed(), 3);
  EXPECT_NEAR(change.moved_ratio(), 0.15, 0.03);
  EXPECT_EQ(change.moved_ratio(), change.moved_ratio_v1());  // at share 0
  EXPECT_EQ(change.moved_pool(), "default");
  EXPECT_THAT(change.reason(), AllOf(HasSubstr("drops 3 of 20 nodes"), HasSubstr("moves 1")));

  EXPECT_EQ(Metric(*router_, "ringshift_topology_reload_held{data_center=\"ams\"}"), 1);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_reload_held{data_center=\"fra\"}"), 0);
  EXPECT_NEAR(Metric(*router_, "ringshift_topology_held_moved_ratio{data_center=\"ams\"}"),
              change.moved_ratio(), 1e-9);
  const std::optional<std::string> line =
      router_->process().WaitForStderr("level=warn msg=\"change of a data center is held");
  ASSERT_TRUE(line);
  EXPECT_EQ(LogValue(*line, "removed"), "3");
  EXPECT_NEAR(std::stod(LogValue(*line, "moved_percent")), 100 * change.moved_ratio(), 1e-4);
  EXPECT_EQ(LogValue(*line, "accept"), "ringctl topology accept " + held.checksum());

  EXPECT_EQ(client_->Owners("ams", 500), owners);
  EXPECT_TRUE(client_->ListDataCenters()->data_centers(0).is_held());
  EXPECT_THAT(client_->Accept("0123456789abcdef"),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(held.checksum())));
  EXPECT_THAT(client_->Accept(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("checksum")));
  EXPECT_EQ(client_->Owners("ams", 500), owners);

  v1::AcceptTopologyRequest accept;
  accept.set_checksum(held.checksum());
  accept.set_reason("three nodes leave");
  accept.set_requested_by("me@here");
  const auto accepted = client_->Accept(accept);
  ASSERT_THAT(accepted, IsOk());
  ASSERT_EQ(accepted->changes_size(), 1);
  EXPECT_EQ(accepted->changes(0).outcome(), v1::RELOAD_OUTCOME_APPLIED);
  EXPECT_EQ(accepted->changes(0).moved_ratio(), change.moved_ratio());
  EXPECT_EQ(accepted->status().held_size(), 0);

  // What was measured is what moves.
  int moved = 0;
  for (const auto& [key, owner] : client_->Owners("ams", 500)) moved += owners.at(key) != owner;
  EXPECT_NEAR(moved / 500.0, change.moved_ratio(), 0.05);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_reload_held{data_center=\"ams\"}"), 0);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_held_moved_ratio{data_center=\"ams\"}"), 0);
  EXPECT_THAT(client_->Accept(held.checksum()),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("nothing is held")));
  const auto history = client_->History("ams");
  ASSERT_THAT(history, IsOk());
  EXPECT_EQ(history->changes(0).reason(), "three nodes leave");
  EXPECT_THAT(history->changes(0).actor(), HasSubstr("me@here"));
}

TEST_F(ReloadTest, TheLimitOfChurnIsAFlag) {
  Start({"--max-reload-churn=15"});
  Write(Topology({{.last = 117}, kFra}));
  const auto reloaded = client_->Reload();
  ASSERT_THAT(reloaded, IsOk());
  EXPECT_EQ(reloaded->status().held_size(), 0);
  EXPECT_EQ(NodesOf("ams"), 18u);
}

TEST_F(ReloadTest, WhatIsHeldIsHeldAfterACrashAndABadFileAfterARestartDoesNotHurt) {
  Start();
  ASSERT_THAT(client_->SetShare("ams", 375'000), IsOk());
  const auto owners = client_->Owners("ams", 500);
  Write(Topology({{.last = 110}, kFra}));
  ASSERT_THAT(client_->Reload(), IsOk());
  const v1::TopologyChange before = client_->Status().reload().held(0);
  Kill();

  Start();
  const v1::ReloadStatus after = client_->Status().reload();
  ASSERT_EQ(after.held_size(), 1);
  EXPECT_EQ(after.held(0).SerializeAsString(), before.SerializeAsString());
  EXPECT_EQ(after.last_trigger(), v1::RELOAD_TRIGGER_START);
  EXPECT_TRUE(
      router_->process().WaitForStderr("level=error msg=\"change of a data center is held"));
  EXPECT_EQ(client_->Owners("ams", 500), owners);
  EXPECT_EQ(client_->GetMigration("ams")->effective_v2_ppm(), 375'000);

  for (const bool exists : {true, false}) {
    exists ? Write("data_centers: what\n") : static_cast<void>(std::filesystem::remove(file_));
    Kill();
    Start();
    EXPECT_TRUE(router_->process().WaitForStderr("level=error msg=\"topology refused"));
    EXPECT_NE(client_->Status().reload().last_error_code(), 0);
    EXPECT_EQ(client_->Owners("ams", 500), owners);
    EXPECT_EQ(NodesOf("fra"), 20u);
  }

  // What is accepted is remembered like what was taken up at once.
  Write(Topology({{.last = 110}, kFra}));
  const auto reloaded = client_->Reload();
  ASSERT_THAT(reloaded, IsOk());
  ASSERT_THAT(client_->Accept(reloaded->status().checksum()), IsOk());
  std::filesystem::remove(file_);
  Kill();
  Start();
  EXPECT_EQ(NodesOf("ams"), 11u);
}

TEST_F(ReloadTest, ParametersThatARingAnswersWithStayTheOthersMayChange) {
  Start();
  const std::uint64_t before = client_->TableChecksum("fra");
  Nodes fra = {.name = "fra", .last = 118};
  Nodes ams;
  ams.more_lines = "    rings: {v1: {points_per_weight: 161}}\n";
  Write(Topology({ams, fra}));
  EXPECT_THAT(client_->Reload(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                          AllOf(HasSubstr("160"), HasSubstr("161"))));
  EXPECT_EQ(client_->TableChecksum("fra"), before);
  EXPECT_EQ(client_->Status().reload().last_error_code(),
            static_cast<int>(absl::StatusCode::kFailedPrecondition));
  ams.more_lines = "    rings: {v1: none}\n";
  Write(Topology({ams, fra}));
  EXPECT_THAT(client_->Reload(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("ring v1")));

  ams.more_lines = "    rings: {v2: {points_per_weight: 100}}\n";
  v1::TopologyChange change;
  do {  // until the call is faster than the watcher
    Write(Topology({kAms, kFra}));
    ASSERT_THAT(client_->Reload(), IsOk());
    Write(Topology({ams, fra}));
    const auto reloaded = client_->Reload();
    ASSERT_THAT(reloaded, IsOk());
    change = reloaded->changes(0);
  } while (change.outcome() == v1::RELOAD_OUTCOME_UNCHANGED);
  EXPECT_EQ(change.outcome(), v1::RELOAD_OUTCOME_APPLIED);
  EXPECT_EQ(change.moved_ratio(), 0);
  EXPECT_GT(change.moved_ratio_v2(), 0.1);
  EXPECT_NE(client_->TableChecksum("fra"), before);
}

TEST_F(ReloadTest, AVanishedDataCenterIsHeldThenOrphanedAndComesBackWithItsShare) {
  Start();
  ASSERT_THAT(client_->SetShare("fra", 375'000), IsOk());
  const auto owners = client_->Owners("fra", 500);
  Write(Topology({kAms}));
  auto reloaded = client_->Reload();
  ASSERT_THAT(reloaded, IsOk());
  EXPECT_EQ(reloaded->changes(1).outcome(), v1::RELOAD_OUTCOME_HELD);
  EXPECT_EQ(reloaded->changes(1).nodes_after(), 0);
  EXPECT_EQ(reloaded->changes(1).moved_ratio(), 1);
  EXPECT_EQ(client_->Owners("fra", 500), owners);
  EXPECT_EQ(Metric(*router_, "ringshift_topology_held_moved_ratio{data_center=\"fra\"}"), 1);

  ASSERT_THAT(client_->Accept(reloaded->status().checksum()), IsOk());
  v1::RouteRequest request;
  request.set_data_center("fra");
  request.set_key("key");
  EXPECT_THAT(client_->Route(request),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("fra"), HasSubstr("ams"))));
  EXPECT_THAT(router_->Get("/metrics"), Not(HasSubstr("data_center=\"fra\"")));
  for (const bool restarted : {false, true}) {
    if (restarted) {
      Kill();
      Start();
    }
    const auto orphan = client_->GetMigration("fra");
    ASSERT_THAT(orphan, IsOk());
    EXPECT_TRUE(orphan->is_orphaned());
    EXPECT_EQ(orphan->v2_ppm(), 375'000);
    EXPECT_EQ(client_->Status().data_centers(), 1);
  }

  Write(Topology({kAms, kFra}));
  ASSERT_THAT(client_->Reload(), IsOk());
  EXPECT_EQ(client_->Owners("fra", 500), owners);
  EXPECT_FALSE(client_->GetMigration("fra")->is_orphaned());
}

TEST_F(ReloadTest, ARenamedDataCenterKeepsTheOwnersOfItsKeys) {
  Start();
  ASSERT_THAT(client_->SetShare("fra", 375'000), IsOk());
  const auto owners = client_->Owners("fra", 2000);
  Write(Topology({kAms, {.name = "fra2"}}));
  const auto reloaded = client_->Reload();
  ASSERT_THAT(reloaded, IsOk());
  EXPECT_NE(client_->Owners("fra2", 2000), owners);  // it has a share and a salt of its own
  ASSERT_THAT(client_->Rename("fra", "fra2"), IsOk());
  EXPECT_EQ(client_->Owners("fra2", 2000), owners);
  ASSERT_THAT(client_->Accept(reloaded->status().checksum()), IsOk());
  EXPECT_EQ(client_->Owners("fra2", 2000), owners);
  Kill();
  Start();
  EXPECT_EQ(client_->Owners("fra2", 2000), owners);
  EXPECT_EQ(client_->Status().data_centers(), 2);
}

TEST_F(ReloadTest, DataCentersThatAreNotSelectedAreNeitherServedNorHeld) {
  Start({"--data-centers=ams"});
  EXPECT_EQ(client_->Status().data_centers(), 1);
  Write(Topology({kAms}));
  const auto reloaded = client_->Reload();
  ASSERT_THAT(reloaded, IsOk());
  EXPECT_EQ(reloaded->changes_size(), 1);
  EXPECT_EQ(reloaded->status().held_size(), 0);
}

TEST_F(ReloadTest, NoCallFailsWhileTopologiesChange) {
  Write(Topology({kAms, kFra}));
  Start({"--max-reload-churn=100"});
  ASSERT_THAT(client_->SetShare("ams", 500'000), IsOk());
  std::atomic<bool> stop = false;
  std::atomic<int> calls = 0;  // of the first caller
  std::vector<absl::Status> failures(3);
  std::vector<std::set<std::uint64_t>> tables(3);
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < 3; ++i) {
    callers.emplace_back([&, i] {
      const RouterClient client(*router_);
      v1::RouteRequest request;
      request.set_data_center(i == 2 ? "fra" : "ams");
      for (int key = 0; !stop; ++key) {
        request.set_key(std::to_string(key));
        const auto response = client.Route(request);
        if (i == 0) ++calls;
        if (!response.ok()) {
          failures[i] = response.status();
          return;
        }
        tables[i].insert(response->table().checksum());
      }
    });
  }
  std::set<std::uint64_t> published;
  for (int i = 0; i < 20; ++i) {
    Write(Topology({{.last = i % 2 == 0 ? 119 : 110, .weight = 10 + i}, kFra}));
    ASSERT_THAT(client_->Reload(), IsOk());
    published.insert(client_->TableChecksum("ams"));
    const int before = calls;
    while (calls < before + 20) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& caller : callers) caller.join();
  EXPECT_THAT(failures, ::testing::Each(IsOk()));
  EXPECT_EQ(published.size(), 20u);
  EXPECT_GT(tables[0].size(), 10u);
  EXPECT_THAT(tables[2], ::testing::SizeIs(1));
}

// A line of /proc/PID/status, in kB.
TEST_F(ReloadTest, AWeightThatGoesUpAndDownLeavesNothingBehind) {
  Write(Topology({{.weight = 1000, .first_weight = 1}}));
  Start({"--max-reload-churn=100"});
  ASSERT_THAT(client_->SetShare("ams", 500'000), IsOk());
  const auto owners = client_->Owners("ams", 500);
  const std::uint64_t checksum = client_->TableChecksum("ams");
  [[maybe_unused]] const std::int64_t before = MemoryOf(router_->process().pid(), "VmRSS");
  for (int i = 0; i < 3; ++i) {
    for (const int weight : {20'000, 1}) {
      Write(Topology({{.weight = 1000, .first_weight = weight}}));
      ASSERT_THAT(client_->Reload(), IsOk());
    }
    EXPECT_EQ(client_->TableChecksum("ams"), checksum);
  }
  EXPECT_EQ(client_->Owners("ams", 500), owners);
#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed
  EXPECT_LT(static_cast<double>(MemoryOf(router_->process().pid(), "VmRSS")),
            1.1 * static_cast<double>(before));
#endif
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_F(ReloadTest, AReloadHasOldAndNewRingsInMemoryAndNoMore) {
  constexpr int kNodes = 100;
  const auto write = [this](int weight) {
    Write(Topology({{.last = 99 + kNodes, .weight = 600, .first_weight = weight}}));
  };
  write(600);
  Start({"--max-reload-churn=100"});
  const pid_t pid = router_->process().pid();
  const auto rings = client_->Status().ring_memory_bytes() / 1024;
  ASSERT_GT(rings, 70'000);
  const std::int64_t before = MemoryOf(pid, "VmRSS");
  std::ofstream("/proc/" + std::to_string(pid) + "/clear_refs") << "5";  // VmHWM begins anew
  for (const int weight : {610, 600, 620, 600}) {
    write(weight);
    ASSERT_THAT(client_->Reload(), IsOk());
  }
  EXPECT_LT(static_cast<double>(MemoryOf(pid, "VmHWM") - before), 1.5 * static_cast<double>(rings));
}
#endif

TEST_F(ReloadTest, ATermSignalInTheMiddleOfAReloadEndsTheRouter) {
  Start({"--max-reload-churn=100"});
  // Rings that take a while.
  Write(Topology({{.last = 199, .weight = 3000, .first_weight = 3000}}));
  router_->process().Signal(SIGHUP);
  router_->process().Signal(SIGTERM);
  EXPECT_THAT(router_->process().WaitForExit(), Optional(0)) << router_->process().Stderr();
}

// As a full disk does it to the router.
class FullDisk {
 public:
  explicit FullDisk(pid_t pid) : pid_(pid) { Limit(0); }
  ~FullDisk() { Limit(RLIM_INFINITY); }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  void Limit(rlim_t bytes) const {
    rlimit limit{};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_FSIZE, nullptr, &limit), 0);
    limit.rlim_cur = std::min(bytes, limit.rlim_max);
    EXPECT_EQ(::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr), 0);
  }

  const pid_t pid_;
};

TEST_F(ReloadTest, AStoreThatTakesNothingDoesNotStopAReloadAndCatchesUp) {
  Start();
  int last = 119;
  for (const bool full : {false, true}) {
    {
      const auto locked = full ? nullptr : std::make_unique<LockedStore>(dir_.File("state.db"));
      const auto disk = full ? std::make_unique<FullDisk>(router_->process().pid()) : nullptr;
      Write(Topology({{.last = --last}, kFra}));
      const auto reloaded = client_->Reload();
      ASSERT_THAT(reloaded, IsOk());
      EXPECT_THAT(reloaded->status().store_error(), HasSubstr("ams"));
      EXPECT_EQ(NodesOf("ams"), static_cast<std::size_t>(last - 99));
      client_->Owners("ams", 100);  // none fails
    }
    client_->WaitFor(
        [](const v1::GetStatusResponse& status) { return status.reload().store_error().empty(); });
    std::filesystem::remove(file_);
    Kill();
    Start();
    EXPECT_EQ(NodesOf("ams"), static_cast<std::size_t>(last - 99));
  }
}

}  // namespace
}  // namespace ringshift::testing
