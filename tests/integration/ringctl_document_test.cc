// What docs/ringctl.md shows is what ringctl prints.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/integration/fake_admin.h"
#include "tests/integration/process.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/integration/terminal.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::SizeIs;

constexpr int kNoon = 1'769'860'800;  // 2026-01-31 12:00:00Z

// A router like the one of the page.
class RingctlDocumentTest : public ::testing::Test {
 protected:
  RingctlDocumentTest()
      : blocks_(Blocks(ReadFile(RINGSHIFT_SOURCE_DIR "/docs/ringctl.md"), "text")) {
    for (const char* name : {"ams", "fra", "lhr"}) {
      v1::Migration& migration = fake_.migrations[name];
      migration.set_data_center(name);
      migration.set_tier("canary");
      migration.set_v2_ppm(125'000);
      migration.set_effective_v2_ppm(125'000);
      migration.set_measured_v2_ppm(124'900);
      migration.set_requests_per_second(4000);
      migration.mutable_v1_outcomes()->set_hit(475.8);
      migration.mutable_v1_outcomes()->set_previous_owner_hit(0.2);
      migration.mutable_v1_outcomes()->set_origin(24);
      migration.set_has_v1(true);
      migration.set_revision(7);
      migration.mutable_update_time()->set_seconds(kNoon);
      migration.set_actor("ops@bastion");
      migration.set_reason("first eighth");
      v1::DataCenterSummary& summary = fake_.data_centers.emplace_back();
      summary.set_name(name);
      summary.add_rings()->set_memory_bytes(1'638'400'000);
      summary.add_rings()->set_memory_bytes(64'716'800);
    }
    for (const char* name : {"ams", "fra"}) {
      v1::OutcomeRates& outcomes = *fake_.migrations[name].mutable_v2_outcomes();
      outcomes.set_hit(64.5);
      outcomes.set_previous_owner_hit(7.1);
      outcomes.set_origin(3.8);
    }
    fake_.migrations["fra"].mutable_v2_outcomes()->set_connect_error(0.3);
    fake_.migrations["fra"].set_errors_per_second(1.4);
    fake_.migrations["lhr"].set_tier("large");
    fake_.migrations["lhr"].set_effective_v2_ppm(0);
    fake_.migrations["lhr"].set_measured_v2_ppm(0);
    fake_.migrations["lhr"].set_effective_reason("ring v2 is being built");
    fake_.rollback.set_durability(v1::DURABILITY_DURABLE);
    fake_.status.set_phase(v1::ROUTER_PHASE_SERVING);
    fake_.status.mutable_store()->set_is_up(true);
    fake_.status.set_ring_memory_bytes(5'109'350'400);
  }

  std::vector<std::string> Command(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), Binary("ringctl"));
    arguments.insert(arguments.end(), {"--server", fake_.address()});
    return arguments;
  }
  // Test failure unless a block of the page is `text`; the address of the page's router is another
  // one.
  void ExpectShown(std::string text) const {
    for (std::size_t at = 0; (at = text.find(fake_.address())) != std::string::npos;) {
      text.replace(at, fake_.address().size(), "127.0.0.1:7401");
    }
    const auto is_text = [&text](const std::string& block) { return block == text; };
    EXPECT_TRUE(std::any_of(blocks_.begin(), blocks_.end(), is_text)) << "the page does not have:\n"
                                                                      << text;
  }

  const std::vector<std::string> blocks_;
  FakeAdmin fake_;
};

TEST_F(RingctlDocumentTest, EveryOutputOfThePageIsTested) { EXPECT_THAT(blocks_, SizeIs(6)); }

TEST_F(RingctlDocumentTest, Set) {
  v1::Forecast& forecast = *fake_.forecast.add_forecasts();
  forecast.set_data_center("ams");
  forecast.set_from_v2_ppm(125'000);
  forecast.set_to_v2_ppm(250'000);
  forecast.set_ring_change_ppm(125'000);
  forecast.set_churn(0.112345);
  forecast.mutable_routed_churn()->set_value(0.1101);
  forecast.mutable_routed_churn()->set_low(0.1081);
  forecast.mutable_routed_churn()->set_high(0.1121);
  forecast.set_requests_per_second(4000);
  forecast.set_hit_ratio_source("reported");
  forecast.set_hit_ratio(0.95);
  v1::EstimatedRatio& misses = *forecast.mutable_extra_misses_per_second();
  misses.set_value(418.4);
  misses.set_low(410.8);
  misses.set_high(426.0);
  forecast.mutable_extra_misses_per_second_with_previous_owner();
  for (const auto& [name, before, after] : std::vector<std::tuple<std::string, double, double>>{
           {"ams-c003", 0.0833, 0.0871}, {"ams-c001", 0.0833, 0.0795}}) {
    v1::NodeForecast& node = *forecast.add_nodes();
    node.set_name(name);
    node.set_share_before(before);
    node.set_share_after(after);
  }
  forecast.set_ring_memory_bytes_before(1'703'116'800);
  forecast.set_ring_memory_bytes_after(1'703'116'800);
  forecast.set_revision(7);
  const Completed set =
      RunOnTerminal(Command({"migration", "set", "--data-center", "ams", "--percent", "25"}),
                    [] { return "y\n"; });
  EXPECT_EQ(set.exit_code, 0) << set.out;
  std::string shown = set.out;
  shown.erase(std::remove(shown.begin(), shown.end(), '\r'), shown.end());
  ExpectShown(shown);
}

TEST_F(RingctlDocumentTest, List) { ExpectShown(testing::Run(Command({"migration", "list"})).out); }

TEST_F(RingctlDocumentTest, Rollback) {
  const Completed rollback = testing::Run(Command({"migration", "rollback", "--tier", "canary"}));
  EXPECT_EQ(rollback.exit_code, 0) << rollback.err;
  ExpectShown(rollback.out);
}

TEST_F(RingctlDocumentTest, Watch) {
  v1::WatchMigrationsResponse first;
  first.set_is_snapshot(true);
  for (const auto& [name, migration] : fake_.migrations) *first.add_migrations() = migration;
  first.set_cursor("1");
  v1::WatchMigrationsResponse second;
  v1::Migration& ams = *second.add_migrations() = fake_.migrations["ams"];
  ams.set_v2_ppm(250'000);
  ams.set_effective_v2_ppm(250'000);
  ams.set_revision(8);
  ams.mutable_update_time()->set_seconds(kNoon + 3600);
  ams.set_reason("next step");
  second.set_cursor("2");
  v1::WatchMigrationsResponse third;
  v1::Migration& back = *third.add_migrations() = ams;
  back.set_v2_ppm(0);
  back.set_effective_v2_ppm(0);
  back.set_is_frozen(true);
  back.set_revision(9);
  back.mutable_update_time()->set_seconds(kNoon + 3700);
  back.set_reason("misses above budget");
  third.set_cursor("3");
  fake_.watch = {{first, second, third}};
  Process watch(Command({"migration", "watch"}));
  ASSERT_TRUE(watch.WaitForStdout("budget"));
  watch.Signal(SIGINT);
  EXPECT_EQ(watch.WaitForExit(), 0);
  ExpectShown(watch.Stdout());
}

TEST_F(RingctlDocumentTest, History) {
  const auto add = [this](int revision, const std::string& data_center,
                          v1::MigrationChangeKind kind, int from, int to,
                          const std::string& reason) {
    v1::MigrationChange& change = fake_.history.emplace_back();
    change.set_revision(revision);
    change.mutable_time()->set_seconds(kNoon + 60 * revision);
    change.set_data_center(data_center);
    change.set_kind(kind);
    change.set_actor("ops@bastion");
    change.set_reason(reason);
    change.set_from_v2_ppm(from);
    change.set_to_v2_ppm(to);
  };
  add(9, "ams", v1::MIGRATION_CHANGE_KIND_ROLLED_BACK, 250'000, 0, "misses above budget");
  add(9, "fra", v1::MIGRATION_CHANGE_KIND_ROLLED_BACK, 125'000, 0, "misses above budget");
  add(8, "ams", v1::MIGRATION_CHANGE_KIND_SHARE, 125'000, 250'000, "next step");
  ExpectShown(testing::Run(Command({"migration", "history"})).out);
}

TEST_F(RingctlDocumentTest, Top) {
  std::string top = testing::Run(Command({"top"})).out;
  ASSERT_GT(top.size(), 9U);
  top.replace(0, 9, "12:00:00Z");
  ExpectShown(top);
}

}  // namespace
}  // namespace ringshift::testing
