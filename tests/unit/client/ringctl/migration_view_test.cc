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
            R"("is_orphaned":false,"has_v1":false,"revision":0,)"
            R"("update_time":"1970-01-01T00:00:00.000000Z","actor":"","reason":"","salt":"",)"
            R"("decision_algorithm":""})"
            "\n");
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
  changes[1].set_data_center("fra");
  changes[1].set_kind(v1::MIGRATION_CHANGE_KIND_TOPOLOGY);
  changes[1].set_reason("accepted");
  changes[1].set_detail("1 of 10 nodes removed");
  EXPECT_EQ(
      Printed([&](Output& output) { PrintHistory(changes, output); }),
      "TIME                  DATA CENTER  CHANGE     FROM  TO  BY        REASON/DETAIL\n"
      "2026-01-31 12:00:00Z  ams          share     12.5%  0%  ops@host  back\\n\\x1b[31m\n"
      "1970-01-01 00:00:00Z  fra          topology      -   -            accepted (1 of 10 nodes "
      "removed)\n");
  EXPECT_EQ(Json([&](JsonWriter& json) { WriteMigrationChange(changes[0], json); }),
            R"({"revision":9,"time":"2026-01-31T12:00:00.000000Z","data_center":"ams",)"
            R"("kind":"share","from_v2_ppm":125000,"to_v2_ppm":0,"actor":"ops@host",)"
            R"("reason":"back\u000a\u001b[31m","detail":""})"
            "\n");
  EXPECT_THAT(Json([&](JsonWriter& json) { WriteMigrationChange(changes[1], json); }),
              HasSubstr("\"from_v2_ppm\":null,\"to_v2_ppm\":null,"));
}

}  // namespace
}  // namespace ringshift
