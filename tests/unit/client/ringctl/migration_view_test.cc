#include "client/ringctl/migration_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Json;
using ::ringshift::testing::Printed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Migration Ams() {
  v1::Migration migration;
  migration.set_data_center("ams");
  migration.set_v2_ppm(125'000);
  migration.set_salt("ams");
  migration.set_decision_algorithm("xxh3-ppm-1");
  migration.set_revision(7);
  migration.mutable_update_time()->set_seconds(1'769'860'800);
  migration.set_actor("ops@host");
  migration.set_reason("first eighth");
  migration.set_tier("canary");
  migration.set_has_v1(true);
  migration.set_effective_v2_ppm(125'000);
  return migration;
}

v1::Migration Orphan() {
  v1::Migration migration = Ams();
  migration.set_data_center("old");
  migration.clear_tier();
  migration.clear_effective_v2_ppm();
  migration.set_has_v1(false);
  migration.set_is_orphaned(true);
  return migration;
}

std::string PrintedMigration(const v1::Migration& migration) {
  return Printed([&](Output& output) { PrintMigration(migration, output); });
}

TEST(MigrationViewTest, GetHasALineForEachFact) {
  EXPECT_EQ(PrintedMigration(Ams()),
            "data center  ams\n"
            "tier         canary\n"
            "share of v2  12.5%  [###.................]\n"
            "effective    12.5%\n"
            "measured     - of 0.0 keys/s, over the last 60 s\n"
            "errors       0.0 keys/s, over the last 60 s\n"
            "ring v1      yes\n"
            "revision     7\n"
            "updated      2026-01-31 12:00:00Z\n"
            "by           ops@host\n"
            "reason       first eighth\n"
            "salt         ams\n"
            "decision     xxh3-ppm-1\n");
}

TEST(MigrationViewTest, AnEffectiveShareThatDiffersHasItsReason) {
  v1::Migration migration = Ams();
  migration.set_effective_v2_ppm(0);
  migration.set_effective_reason("v2 is being built");
  EXPECT_THAT(
      PrintedMigration(migration),
      AllOf(HasSubstr("share of v2  12.5%"), HasSubstr("\neffective    0%: v2 is being built\n")));
  const std::string list = Printed([&](Output& output) {
    PrintMigrations({Orphan(), migration}, output);
  });
  EXPECT_THAT(list, HasSubstr("\n\nold is orphaned: this router does not serve the data center\n"
                              "ams answers with 0%: v2 is being built\n"));
}

TEST(MigrationViewTest, AnOrphanHasNoEffectiveShareAndNoRing) {
  EXPECT_THAT(
      PrintedMigration(Orphan()),
      AllOf(HasSubstr("share of v2  12.5%"),
            HasSubstr("\neffective    orphaned: this router does not serve the data center\n"),
            Not(HasSubstr("ring v1"))));
  EXPECT_THAT(Json([](JsonWriter& json) { WriteMigration(Orphan(), json); }),
              AllOf(HasSubstr("\"v2_ppm\":125000,\"effective_v2_ppm\":null,"),
                    HasSubstr("\"is_orphaned\":true,")));
}

TEST(MigrationViewTest, JsonHasEveryMemberWhateverItsValue) {
  v1::Migration migration;
  migration.set_effective_v2_ppm(0);
  EXPECT_EQ(Json([&](JsonWriter& json) { WriteMigration(migration, json); }),
            R"({"data_center":"","tier":"","v2_ppm":0,"effective_v2_ppm":0,"effective_reason":"",)"
            R"("measured_v2_ppm":null,"requests_per_second":0,"errors_per_second":0,)"
            R"("v1_outcomes":null,"v2_outcomes":null,"is_frozen":false,)"
            R"("retired_ring":null,"share_override":null,"is_not_durable":false,)"
            R"("is_orphaned":false,"has_v1":false,"balance_warning":"","revision":0,)"
            R"("update_time":"1970-01-01T00:00:00.000000Z","share_time":null,"actor":"",)"
            R"("reason":"","salt":"",)"
            R"("decision_algorithm":""})"
            "\n");
}

v1::Migration Rare() {
  v1::Migration migration = Ams();
  migration.set_effective_v2_ppm(0);
  migration.set_effective_reason("overridden by ops@host: store down");
  migration.set_measured_v2_ppm(100);
  migration.set_requests_per_second(1234.5);
  migration.set_errors_per_second(0.25);
  v1::OutcomeRates& outcomes = *migration.mutable_v2_outcomes();
  outcomes.set_hit(94.5);
  outcomes.set_previous_owner_hit(1);
  outcomes.set_origin(4);
  outcomes.set_error(0.5);
  migration.set_is_frozen(true);
  migration.set_retired_ring(v1::RING_VERSION_V1);
  migration.set_is_not_durable(true);
  migration.set_balance_warning("the CV is 0.25");
  v1::ShareOverride& share_override = *migration.mutable_share_override();
  share_override.set_v2_ppm(0);
  share_override.set_reason("store down");
  share_override.set_actor("ops@host");
  share_override.mutable_time()->set_seconds(1'769'860'800);
  return migration;
}

TEST(MigrationViewTest, APartOfTheOutcomesIsThatOfAllThatWereReported) {
  v1::OutcomeRates outcomes;
  EXPECT_EQ(OutcomePercent(0, outcomes), "-");
  outcomes.set_hit(99'997);
  outcomes.set_connect_error(3);
  EXPECT_EQ(OutcomePercent(outcomes.origin(), outcomes), "0%");
  EXPECT_EQ(OutcomePercent(outcomes.connect_error(), outcomes), "<0.01%");
  outcomes.set_connect_error(100'003);
  EXPECT_EQ(OutcomePercent(outcomes.connect_error(), outcomes), "50.00%");
}

TEST(MigrationViewTest, GetSaysAllThatIsOutOfTheOrdinary) {
  EXPECT_THAT(
      PrintedMigration(Rare()),
      AllOf(HasSubstr("\neffective    0%: overridden by ops@host: store down\n"),
            HasSubstr("\nmeasured     0.01% of 1234.5 keys/s, over the last 60 s\n"),
            HasSubstr("\nerrors       0.2 keys/s, over the last 60 s\n"
                      "v2 outcomes  100.0 requests/s: 94.50% hit, 1.00% previous owner hit, 4.00% "
                      "origin, 0% connect error, 0.50% error\n"),
            HasSubstr("\nfrozen       by a rollback: the share stays until `ringctl migration "
                      "unfreeze`\n"),
            HasSubstr("\nretired      ring v1: `ringctl migration restore` calls it back\n"),
            HasSubstr("\noverride     0% on this router alone, by ops@host since 2026-01-31 "
                      "12:00:00Z: store down\n"),
            HasSubstr("\nnot durable  the store does not have this"),
            HasSubstr("\nbalance      the CV is 0.25\n")));
}

TEST(MigrationViewTest, ListHasTheThreeSharesTheStateAndReasonsBelow) {
  EXPECT_EQ(
      Printed([](Output& output) { PrintMigrations({Rare()}, output); }),
      "DATA CENTER  TIER       V2                          EFFECTIVE  MEASURED  STATE           "
      "                           REVISION  UPDATED               BY        REASON\n"
      "ams          canary  12.5%  [###.................]         0%     0.01%  frozen, v1 "
      "retired, override, not durable         7  2026-01-31 12:00:00Z  ops@host  first eighth\n"
      "\n"
      "ams answers with 0%: overridden by ops@host: store down\n"
      "ams is not in the store like this: a restart would bring back what it was\n");
  EXPECT_THAT(
      Json([](JsonWriter& json) { WriteMigration(Rare(), json); }),
      AllOf(HasSubstr(R"("measured_v2_ppm":100,"requests_per_second":1234.5,)"
                      R"("errors_per_second":0.25,"v1_outcomes":null,"v2_outcomes":{"hit":94.5,)"
                      R"("previous_owner_hit":1,"origin":4,"connect_error":0,"error":0.5},)"),
            HasSubstr(R"("is_frozen":true,"retired_ring":"v1","share_override":{"v2_ppm":0,)"
                      R"("reason":"store down","actor":"ops@host",)"
                      R"("time":"2026-01-31T12:00:00.000000Z"},"is_not_durable":true,)")));
}

TEST(MigrationViewTest, ChangesHaveTheShareBeforeAndAfter) {
  ChangedMigrations changes;
  *changes.Add()->mutable_migration() = Ams();
  changes[0].set_previous_v2_ppm(0);
  EXPECT_EQ(Printed([&](Output& output) { PrintChangedMigrations(changes, output); }),
            "DATA CENTER  BEFORE  AFTER  EFFECTIVE  STATE  REVISION\n"
            "ams              0%  12.5%      12.5%  -             7\n");
}

TEST(MigrationViewTest, HistoryHasWhoWhenFromToAndWhy) {
  std::vector<v1::MigrationChange> changes(2);
  changes[0].set_revision(9);
  changes[0].mutable_time()->set_seconds(1'769'860'800);
  changes[0].set_data_center("ams");
  changes[0].set_kind(v1::MIGRATION_CHANGE_KIND_SHARE);
  changes[0].set_actor("ops@host");
  changes[0].set_reason("back\n\033[31m");
  changes[0].set_from_v2_ppm(125'000);
  changes[0].set_to_v2_ppm(0);
  changes[1].set_revision(8);
  changes[1].set_data_center("fra");
  changes[1].set_kind(v1::MIGRATION_CHANGE_KIND_TOPOLOGY);
  changes[1].set_reason("accepted");
  changes[1].set_detail("1 of 10 nodes removed");
  EXPECT_EQ(
      Printed([&](Output& output) { PrintHistory(changes, output); }),
      "REVISION  TIME                  DATA CENTER  CHANGE     FROM  TO  BY        REASON/DETAIL\n"
      "       9  2026-01-31 12:00:00Z  ams          share     12.5%  0%  ops@host  "
      "back\\n\\x1b[31m\n"
      "       8  1970-01-01 00:00:00Z  fra          topology      -   -            accepted (1 of "
      "10 "
      "nodes removed)\n");
  EXPECT_EQ(Json([&](JsonWriter& json) { WriteMigrationChange(changes[0], json); }),
            R"({"revision":9,"time":"2026-01-31T12:00:00.000000Z","data_center":"ams",)"
            R"("kind":"share","from_v2_ppm":125000,"to_v2_ppm":0,"actor":"ops@host",)"
            R"("reason":"back\u000a\u001b[31m","detail":""})"
            "\n");
  EXPECT_THAT(Json([&](JsonWriter& json) { WriteMigrationChange(changes[1], json); }),
              HasSubstr("\"from_v2_ppm\":null,\"to_v2_ppm\":null,"));
}

TEST(MigrationViewTest, HistorySaysOnceWhoMadeAChangeOfManyAndWhy) {
  std::vector<v1::MigrationChange> changes(3);
  for (v1::MigrationChange& change : changes) {
    change.set_revision(9);
    change.mutable_time()->set_seconds(1'769'860'800);
    change.set_data_center("ams");
    change.set_kind(v1::MIGRATION_CHANGE_KIND_ROLLED_BACK);
    change.set_actor("ops@host");
    change.set_reason("misses");
    change.set_from_v2_ppm(125'000);
    change.set_to_v2_ppm(0);
  }
  changes[1].set_data_center("fra");
  changes[2].set_revision(8);
  changes[2].set_kind(v1::MIGRATION_CHANGE_KIND_DEFAULT_SHARE);
  changes[2].clear_data_center();
  EXPECT_EQ(Printed([&](Output& output) { PrintHistory(changes, output); }),
            "REVISION  TIME                  DATA CENTER  CHANGE          FROM  TO  BY        "
            "REASON/DETAIL\n"
            "       9  2026-01-31 12:00:00Z  ams          rolled_back    12.5%  0%  ops@host  "
            "misses\n"
            "                                fra          rolled_back    12.5%  0%\n"
            "       8  2026-01-31 12:00:00Z  -            default_share  12.5%  0%  ops@host  "
            "misses\n");
}

}  // namespace
}  // namespace ringshift
