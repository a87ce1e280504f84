#include "client/migration_view.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "client/table.h"
#include "migration/share.h"

namespace ringshift {
namespace {

absl::Time TimeOf(const v1::Migration& migration) {
  return absl::FromUnixSeconds(migration.update_time().seconds()) +
         absl::Nanoseconds(migration.update_time().nanos());
}

std::string ShareChart(const v1::Migration& migration) {
  return Gauge(static_cast<double>(migration.v2_ppm()) / Share::kMaxPpm, 20);
}

}  // namespace

std::string PercentOfPpm(std::int32_t ppm) {
  const absl::StatusOr<Share> share = Share::FromPpm(ppm);
  return share.ok() ? share->ToPercent() + "%" : absl::StrCat(ppm, " ppm");
}

std::string UpdateTime(const v1::Migration& migration) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", TimeOf(migration), absl::UTCTimeZone());
}

void PrintMigration(const v1::Migration& migration, Output& output) {
  Table table({{""}, {""}});
  table.AddRow({"data center", migration.data_center()});
  table.AddRow({"tier", migration.tier().empty() ? "-" : migration.tier()});
  table.AddRow({"share of v2", PercentOfPpm(migration.v2_ppm()) + "  " + ShareChart(migration)});
  table.AddRow({"ring v1", migration.has_v1() ? "yes" : "none: v2 answers every request"});
  table.AddRow({"revision", absl::StrCat(migration.revision())});
  table.AddRow({"updated", UpdateTime(migration)});
  table.AddRow({"by", migration.actor()});
  table.AddRow({"reason", migration.reason()});
  table.AddRow({"salt", migration.salt()});
  table.AddRow({"decision", migration.decision_algorithm()});
  table.Print(output);
}

void PrintMigrations(const std::vector<v1::Migration>& migrations, Output& output) {
  Table table({{"DATA CENTER"},
               {"TIER"},
               {"V2", Table::kRight},
               {""},
               {"REVISION", Table::kRight},
               {"UPDATED"},
               {"BY"},
               {"REASON"}});
  for (const v1::Migration& migration : migrations) {
    table.AddRow({migration.data_center(), migration.tier().empty() ? "-" : migration.tier(),
                  PercentOfPpm(migration.v2_ppm()), ShareChart(migration),
                  absl::StrCat(migration.revision()), UpdateTime(migration), migration.actor(),
                  migration.reason()});
  }
  table.Print(output);
}

void WriteMigration(const v1::Migration& migration, JsonWriter& json) {
  json.BeginObject();
  json.Key("data_center").String(migration.data_center());
  json.Key("tier").String(migration.tier());
  json.Key("v2_ppm").Int(migration.v2_ppm());
  json.Key("has_v1").Bool(migration.has_v1());
  json.Key("revision").Int(migration.revision());
  json.Key("update_time")
      .String(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", TimeOf(migration), absl::UTCTimeZone()));
  json.Key("actor").String(migration.actor());
  json.Key("reason").String(migration.reason());
  json.Key("salt").String(migration.salt());
  json.Key("decision_algorithm").String(migration.decision_algorithm());
  json.EndObject();
}

}  // namespace ringshift
