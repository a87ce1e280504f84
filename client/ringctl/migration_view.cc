#include "client/ringctl/migration_view.h"

#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

constexpr std::string_view kOrphaned = "orphaned";

std::string ShareChart(const v1::Migration& migration) {
  return Gauge(static_cast<double>(migration.v2_ppm()) / Share::kMaxPpm, 20);
}

std::string Effective(const v1::Migration& migration) {
  if (migration.is_orphaned()) return std::string(kOrphaned);
  return migration.has_effective_v2_ppm() ? PercentOfPpm(migration.effective_v2_ppm()) : "-";
}

// Why the effective share is another one than the one that was set; "" where it is not.
std::string Difference(const v1::Migration& migration) {
  if (migration.is_orphaned()) return "this router does not serve the data center";
  return migration.effective_reason();
}

std::string OptionalPercent(bool is_present, std::int32_t ppm) {
  return is_present ? PercentOfPpm(ppm) : "-";
}

// "REASON (DETAIL)", or the one of them that there is.
std::string ReasonAndDetail(const v1::MigrationChange& change) {
  if (change.detail().empty()) return change.reason();
  if (change.reason().empty()) return change.detail();
  return absl::StrCat(change.reason(), " (", change.detail(), ")");
}

}  // namespace

void PrintMigration(const v1::Migration& migration, Output& output) {
  std::string effective = Effective(migration);
  if (const std::string why = Difference(migration); !why.empty()) {
    absl::StrAppend(&effective, ": ", why);
  }
  Table table({{""}, {""}});
  table.AddRow({"data center", migration.data_center()});
  table.AddRow({"tier", OrDash(migration.tier())});
  table.AddRow({"share of v2", PercentOfPpm(migration.v2_ppm()) + "  " + ShareChart(migration)});
  table.AddRow({"effective", effective});
  if (migration.has_effective_v2_ppm()) {  // it is served
    table.AddRow({"ring v1", migration.has_v1() ? "yes" : "none: v2 answers every request"});
  }
  table.AddRow({"revision", absl::StrCat(migration.revision())});
  table.AddRow({"updated", TimeForPeople(migration.update_time())});
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
               {"EFFECTIVE", Table::kRight},
               {"REVISION", Table::kRight},
               {"UPDATED"},
               {"BY"},
               {"REASON"}});
  std::string notes;
  for (const v1::Migration& migration : migrations) {
    table.AddRow({migration.data_center(), OrDash(migration.tier()),
                  PercentOfPpm(migration.v2_ppm()), ShareChart(migration), Effective(migration),
                  absl::StrCat(migration.revision()), TimeForPeople(migration.update_time()),
                  migration.actor(), migration.reason()});
    if (const std::string why = Difference(migration); !why.empty()) {
      absl::StrAppend(&notes, ForTerminal(migration.data_center()),
                      migration.is_orphaned() ? " is " : " answers with ", Effective(migration),
                      ": ", ForTerminal(why), "\n");
    }
  }
  table.Print(output);
  if (!notes.empty()) output.Write("\n" + notes);
}

void PrintHistory(const std::vector<v1::MigrationChange>& changes, Output& output) {
  Table table({{"TIME"},
               {"DATA CENTER"},
               {"CHANGE"},
               {"FROM", Table::kRight},
               {"TO", Table::kRight},
               {"BY"},
               {"REASON/DETAIL"}});
  for (const v1::MigrationChange& change : changes) {
    table.AddRow({TimeForPeople(change.time()), change.data_center(),
                  std::string(ChangeKindText(change.kind())),
                  OptionalPercent(change.has_from_v2_ppm(), change.from_v2_ppm()),
                  OptionalPercent(change.has_to_v2_ppm(), change.to_v2_ppm()), change.actor(),
                  ReasonAndDetail(change)});
  }
  table.Print(output);
}

void WriteMigration(const v1::Migration& migration, JsonWriter& json) {
  json.BeginObject();
  json.Key("data_center").String(migration.data_center());
  json.Key("tier").String(migration.tier());
  json.Key("v2_ppm").Int(migration.v2_ppm());
  json.Key("effective_v2_ppm");
  WritePpm(migration.has_effective_v2_ppm(), migration.effective_v2_ppm(), json);
  json.Key("effective_reason").String(migration.effective_reason());
  json.Key("is_orphaned").Bool(migration.is_orphaned());
  json.Key("has_v1").Bool(migration.has_v1());
  json.Key("revision").Int(migration.revision());
  json.Key("update_time").String(TimeForScripts(migration.update_time()));
  json.Key("actor").String(migration.actor());
  json.Key("reason").String(migration.reason());
  json.Key("salt").String(migration.salt());
  json.Key("decision_algorithm").String(migration.decision_algorithm());
  json.EndObject();
}

void WriteMigrationChange(const v1::MigrationChange& change, JsonWriter& json) {
  json.BeginObject();
  json.Key("revision").Int(change.revision());
  json.Key("time").String(TimeForScripts(change.time()));
  json.Key("data_center").String(change.data_center());
  json.Key("kind").String(ChangeKindText(change.kind()));
  json.Key("from_v2_ppm");
  WritePpm(change.has_from_v2_ppm(), change.from_v2_ppm(), json);
  json.Key("to_v2_ppm");
  WritePpm(change.has_to_v2_ppm(), change.to_v2_ppm(), json);
  json.Key("actor").String(change.actor());
  json.Key("reason").String(change.reason());
  json.Key("detail").String(change.detail());
  json.EndObject();
}

}  // namespace ringshift
