#include "client/ringctl/migration_view.h"

#include <cstdint>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/routed_node.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

std::string ShareChart(const v1::Migration& migration) {
  return Gauge(static_cast<double>(migration.v2_ppm()) / Share::kMaxPpm, 20);
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

// Why the effective share is another one than the one that was set, or what becomes of a ring that
// it does not need; "" where there is neither.
std::string Difference(const v1::Migration& migration) {
  if (migration.is_orphaned()) return "this router does not serve the data center";
  return migration.effective_reason();
}

// "10%, by ops@host since 2026-01-31 12:00:00Z: REASON".
std::string DescribeOverride(const v1::ShareOverride& share_override) {
  return absl::StrCat(PercentOfPpm(share_override.v2_ppm()), " on this router alone, by ",
                      share_override.actor(), " since ", TimeForPeople(share_override.time()), ": ",
                      share_override.reason());
}

std::string Notes(const Migrations& migrations) {
  std::string notes;
  for (const v1::Migration& migration : migrations) notes += MigrationNote(migration);
  return notes.empty() ? notes : "\n" + notes;
}

double Total(const v1::OutcomeRates& outcomes) {
  return outcomes.hit() + outcomes.previous_owner_hit() + outcomes.origin() +
         outcomes.connect_error() + outcomes.error();
}

// "500.0 requests/s: 95.00% hit, 0% previous owner hit, 5.00% origin, ...".
std::string DescribeOutcomes(const v1::OutcomeRates& outcomes) {
  const auto part = [&outcomes](double rate) { return OutcomePercent(rate, outcomes); };
  return absl::StrCat(FixedPoint(Total(outcomes), 1), " requests/s: ", part(outcomes.hit()),
                      " hit, ", part(outcomes.previous_owner_hit()), " previous owner hit, ",
                      part(outcomes.origin()), " origin, ", part(outcomes.connect_error()),
                      " connect error, ", part(outcomes.error()), " error");
}

// Null where nothing was reported.
void WriteOutcomes(bool is_present, const v1::OutcomeRates& outcomes, JsonWriter& json) {
  if (!is_present) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("hit").Double(outcomes.hit());
  json.Key("previous_owner_hit").Double(outcomes.previous_owner_hit());
  json.Key("origin").Double(outcomes.origin());
  json.Key("connect_error").Double(outcomes.connect_error());
  json.Key("error").Double(outcomes.error());
  json.EndObject();
}

void WriteOverride(const v1::Migration& migration, JsonWriter& json) {
  if (!migration.has_share_override()) {
    json.Null();
    return;
  }
  const v1::ShareOverride& share_override = migration.share_override();
  json.BeginObject();
  json.Key("v2_ppm").Int(share_override.v2_ppm());
  json.Key("reason").String(share_override.reason());
  json.Key("actor").String(share_override.actor());
  json.Key("time").String(TimeForScripts(share_override.time()));
  json.EndObject();
}

}  // namespace

std::string EffectiveText(const v1::Migration& migration) {
  if (migration.is_orphaned()) return "orphaned";
  return OptionalPercent(migration.has_effective_v2_ppm(), migration.effective_v2_ppm());
}

std::string MeasuredText(const v1::Migration& migration) {
  return OptionalPercent(migration.has_measured_v2_ppm(), migration.measured_v2_ppm());
}

std::string OutcomePercent(double rate, const v1::OutcomeRates& outcomes) {
  const double total = Total(outcomes);
  if (!(total > 0)) return "-";
  if (rate == 0) return "0%";
  const std::string text = FixedPoint(100 * rate / total, 2);
  return text == "0.00" ? "<0.01%" : text + "%";
}

std::string MarksText(const v1::Migration& migration) {
  std::string marks;
  const auto add = [&marks](std::string_view mark) {
    absl::StrAppend(&marks, marks.empty() ? "" : ", ", std::string(mark));
  };
  if (migration.is_frozen()) add("frozen");
  if (migration.retired_ring() != v1::RING_VERSION_UNSPECIFIED) {
    add(std::string(RingVersionText(migration.retired_ring())) + " retired");
  }
  if (migration.has_share_override()) add("override");
  if (migration.is_not_durable()) add("not durable");
  return marks;
}

std::string MigrationNote(const v1::Migration& migration) {
  const std::string name = ForTerminal(migration.data_center());
  std::string note;
  if (const std::string why = Difference(migration); !why.empty()) {
    absl::StrAppend(&note, name, migration.is_orphaned() ? " is " : " answers with ",
                    EffectiveText(migration), ": ", ForTerminal(why), "\n");
  }
  if (migration.is_not_durable()) {
    absl::StrAppend(&note, name,
                    " is not in the store like this: a restart would bring back what it was\n");
  }
  return note;
}

void PrintMigration(const v1::Migration& migration, Output& output) {
  std::string effective = EffectiveText(migration);
  if (const std::string why = Difference(migration); !why.empty()) {
    absl::StrAppend(&effective, ": ", why);
  }
  Table table({{""}, {""}});
  table.AddRow({"data center", migration.data_center()});
  table.AddRow({"tier", OrDash(migration.tier())});
  table.AddRow({"share of v2", PercentOfPpm(migration.v2_ppm()) + "  " + ShareChart(migration)});
  table.AddRow({"effective", effective});
  if (migration.has_effective_v2_ppm()) {  // it is served
    table.AddRow({"measured", absl::StrCat(MeasuredText(migration), " of ",
                                           FixedPoint(migration.requests_per_second(), 1),
                                           " keys/s, over the last 60 s")});
    table.AddRow({"errors", absl::StrCat(FixedPoint(migration.errors_per_second(), 1),
                                         " keys/s, over the last 60 s")});
    if (migration.has_v1_outcomes()) {
      table.AddRow({"v1 outcomes", DescribeOutcomes(migration.v1_outcomes())});
    }
    if (migration.has_v2_outcomes()) {
      table.AddRow({"v2 outcomes", DescribeOutcomes(migration.v2_outcomes())});
    }
    table.AddRow({"ring v1", migration.has_v1() ? "yes" : "none: v2 answers every request"});
  }
  if (migration.is_frozen()) {
    table.AddRow({"frozen", "by a rollback: the share stays until `ringctl migration unfreeze`"});
  }
  if (migration.retired_ring() != v1::RING_VERSION_UNSPECIFIED) {
    table.AddRow(
        {"retired", absl::StrCat("ring ", std::string(RingVersionText(migration.retired_ring())),
                                 ": `ringctl migration restore` calls it back")});
  }
  if (migration.has_share_override()) {
    table.AddRow({"override", DescribeOverride(migration.share_override())});
  }
  if (migration.is_not_durable()) {
    table.AddRow(
        {"not durable", "the store does not have this: a restart would bring back what it was"});
  }
  if (!migration.balance_warning().empty()) {
    table.AddRow({"balance", migration.balance_warning()});
  }
  table.AddRow({"revision", absl::StrCat(migration.revision())});
  table.AddRow({"updated", TimeForPeople(migration.update_time())});
  if (migration.has_share_time()) {
    table.AddRow({"share since", TimeForPeople(migration.share_time())});
  }
  table.AddRow({"by", migration.actor()});
  table.AddRow({"reason", migration.reason()});
  table.AddRow({"salt", migration.salt()});
  table.AddRow({"decision", migration.decision_algorithm()});
  table.Print(output);
}

void PrintMigrations(const Migrations& migrations, Output& output) {
  Table table({{"DATA CENTER"},
               {"TIER"},
               {"V2", Table::kRight},
               {""},
               {"EFFECTIVE", Table::kRight},
               {"MEASURED", Table::kRight},
               {"STATE"},
               {"REVISION", Table::kRight},
               {"UPDATED"},
               {"BY"},
               {"REASON"}});
  for (const v1::Migration& migration : migrations) {
    table.AddRow({migration.data_center(), OrDash(migration.tier()),
                  PercentOfPpm(migration.v2_ppm()), ShareChart(migration), EffectiveText(migration),
                  MeasuredText(migration), OrDash(MarksText(migration)),
                  absl::StrCat(migration.revision()), TimeForPeople(migration.update_time()),
                  migration.actor(), migration.reason()});
  }
  table.Print(output);
  output.Write(Notes(migrations));
}

void PrintChangedMigrations(const ChangedMigrations& changes, Output& output) {
  Table table({{"DATA CENTER"},
               {"BEFORE", Table::kRight},
               {"AFTER", Table::kRight},
               {"EFFECTIVE", Table::kRight},
               {"STATE"},
               {"REVISION", Table::kRight}});
  Migrations migrations;
  for (const v1::ChangedMigration& change : changes) {
    const v1::Migration& migration = change.migration();
    table.AddRow({migration.data_center(),
                  OptionalPercent(change.has_previous_v2_ppm(), change.previous_v2_ppm()),
                  PercentOfPpm(migration.v2_ppm()), EffectiveText(migration),
                  OrDash(MarksText(migration)), absl::StrCat(migration.revision())});
    migrations.push_back(migration);
  }
  table.Print(output);
  output.Write(Notes(migrations));
}

void PrintHistory(const std::vector<v1::MigrationChange>& changes, Output& output) {
  Table table({{"REVISION", Table::kRight},
               {"TIME"},
               {"DATA CENTER"},
               {"CHANGE"},
               {"FROM", Table::kRight},
               {"TO", Table::kRight},
               {"BY"},
               {"REASON/DETAIL"}});
  std::int64_t last = 0;
  for (const v1::MigrationChange& change : changes) {
    const bool is_first = change.revision() != last;
    last = change.revision();
    table.AddRow({is_first ? absl::StrCat(change.revision()) : "",
                  is_first ? TimeForPeople(change.time()) : "", OrDash(change.data_center()),
                  std::string(ChangeKindText(change.kind())),
                  OptionalPercent(change.has_from_v2_ppm(), change.from_v2_ppm()),
                  OptionalPercent(change.has_to_v2_ppm(), change.to_v2_ppm()),
                  is_first ? change.actor() : "",
                  is_first ? ReasonAndDetail(change) : change.detail()});
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
  json.Key("measured_v2_ppm");
  WritePpm(migration.has_measured_v2_ppm(), migration.measured_v2_ppm(), json);
  json.Key("requests_per_second").Double(migration.requests_per_second());
  json.Key("errors_per_second").Double(migration.errors_per_second());
  json.Key("v1_outcomes");
  WriteOutcomes(migration.has_v1_outcomes(), migration.v1_outcomes(), json);
  json.Key("v2_outcomes");
  WriteOutcomes(migration.has_v2_outcomes(), migration.v2_outcomes(), json);
  json.Key("is_frozen").Bool(migration.is_frozen());
  json.Key("retired_ring");
  if (migration.retired_ring() == v1::RING_VERSION_UNSPECIFIED) {
    json.Null();
  } else {
    json.String(RingVersionText(migration.retired_ring()));
  }
  json.Key("share_override");
  WriteOverride(migration, json);
  json.Key("is_not_durable").Bool(migration.is_not_durable());
  json.Key("is_orphaned").Bool(migration.is_orphaned());
  json.Key("has_v1").Bool(migration.has_v1());
  json.Key("balance_warning").String(migration.balance_warning());
  json.Key("revision").Int(migration.revision());
  json.Key("update_time").String(TimeForScripts(migration.update_time()));
  json.Key("share_time");
  WriteTime(migration.has_share_time(), migration.share_time(), json);
  json.Key("actor").String(migration.actor());
  json.Key("reason").String(migration.reason());
  json.Key("salt").String(migration.salt());
  json.Key("decision_algorithm").String(migration.decision_algorithm());
  json.EndObject();
}

void WriteMigrations(const Migrations& migrations, JsonWriter& json) {
  json.BeginArray();
  for (const v1::Migration& migration : migrations) WriteMigration(migration, json);
  json.EndArray();
}

void WriteChangedMigrations(const ChangedMigrations& changes, JsonWriter& json) {
  json.BeginArray();
  for (const v1::ChangedMigration& change : changes) {
    json.BeginObject();
    json.Key("previous_v2_ppm");
    WritePpm(change.has_previous_v2_ppm(), change.previous_v2_ppm(), json);
    json.Key("migration");
    WriteMigration(change.migration(), json);
    json.EndObject();
  }
  json.EndArray();
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
