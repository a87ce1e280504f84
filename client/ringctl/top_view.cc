#include "client/ringctl/top_view.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

// Keys a second that each ring answers; none where nothing was measured.
struct Rates {
  double v1 = 0;
  double v2 = 0;
};

std::optional<Rates> RatesOf(const v1::Migration& migration) {
  if (!migration.has_measured_v2_ppm()) return std::nullopt;
  const double rate = migration.requests_per_second();
  const double v2 = rate * migration.measured_v2_ppm() / Share::kMaxPpm;
  return Rates{rate - v2, v2};
}

// What the rings of a data center take; 0 where it is not served.
std::int64_t RingMemory(const TopView& view, const std::string& data_center) {
  std::int64_t bytes = 0;
  for (const v1::DataCenterSummary& summary : view.data_centers) {
    if (summary.name() != data_center) continue;
    for (const v1::RingSummary& ring : summary.rings()) bytes += ring.memory_bytes();
  }
  return bytes;
}

std::string Bytes(std::int64_t bytes) {
  return HumanBytes(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)));
}

std::string Rate(double rate) {
  return rate < 100 ? FixedPoint(rate, 1)
                    : HumanCount(static_cast<std::uint64_t>(std::min(rate, 1e18) + 0.5));
}

std::string Headline(const TopView& view) {
  double rate = 0;
  for (const v1::Migration& migration : view.migrations) rate += migration.requests_per_second();
  return absl::StrCat(absl::FormatTime("%H:%M:%SZ", view.time, absl::UTCTimeZone()), "  ",
                      ForTerminal(view.server), "  ",
                      std::string(RouterPhaseText(view.status.phase())), "  store ",
                      view.status.store().is_up() ? "up" : "DOWN", "  ", Rate(rate),
                      " keys/s  rings ", Bytes(view.status.ring_memory_bytes()));
}

bool HasOutcomes(const v1::Migration& migration) {
  return migration.has_v1_outcomes() || migration.has_v2_outcomes();
}

// What a screen without room for all of them shows first.
int Rank(const v1::Migration& migration) {
  if (!MigrationNote(migration).empty() || !MarksText(migration).empty()) return 0;
  const std::int32_t share = migration.effective_v2_ppm();
  return share > 0 && share < Share::kMaxPpm ? 1 : 2;
}

bool ComesFirst(const v1::Migration* a, const v1::Migration* b) {
  const int rank_a = Rank(*a);
  const int rank_b = Rank(*b);
  if (rank_a != rank_b) return rank_a < rank_b;
  return a->requests_per_second() > b->requests_per_second();
}

std::vector<std::string> NotesOf(const std::vector<const v1::Migration*>& migrations) {
  std::vector<std::string> notes;
  for (const v1::Migration* migration : migrations) {
    for (const auto& note : absl::StrSplit(MigrationNote(*migration), '\n', absl::SkipEmpty())) {
      notes.emplace_back(note);
    }
  }
  return notes;
}

// One of 63 characters leaves no room for anything else on a screen of 80.
std::string ShortName(const v1::Migration& migration, std::size_t max_width) {
  const std::string& name = migration.data_center();
  const std::size_t room = std::max<std::size_t>(max_width / 3, 12);
  return name.size() <= room ? name : name.substr(0, room - 3) + "...";
}

std::vector<std::string> TableLines(const TopView& view,
                                    const std::vector<const v1::Migration*>& migrations,
                                    std::size_t max_width) {
  const bool has_outcomes =
      std::any_of(view.migrations.begin(), view.migrations.end(), HasOutcomes);
  std::vector<Table::Column> columns = {{"DATA CENTER"},
                                        {"V2", Table::kRight},
                                        {"EFFECTIVE", Table::kRight},
                                        {"MEASURED", Table::kRight},
                                        {"STATE"},
                                        {"V1/S", Table::kRight},
                                        {"V2/S", Table::kRight},
                                        {"ERR/S", Table::kRight}};
  if (has_outcomes) {
    for (const char* title : {"V1 ORIGIN", "V2 ORIGIN", "V1 CONN ERR", "V2 CONN ERR"}) {
      columns.push_back({title, Table::kRight});
    }
  }
  columns.push_back({"MEMORY", Table::kRight});
  columns.push_back({""});
  Table table(std::move(columns));
  for (const v1::Migration* each : migrations) {
    const v1::Migration& migration = *each;
    const std::optional<Rates> rates = RatesOf(migration);
    std::vector<std::string> row = {
        ShortName(migration, max_width), PercentOfPpm(migration.v2_ppm()),
        EffectiveText(migration),        MeasuredText(migration),
        OrDash(MarksText(migration)),    rates ? Rate(rates->v1) : "-",
        rates ? Rate(rates->v2) : "-",   Rate(migration.errors_per_second())};
    if (has_outcomes) {
      const v1::OutcomeRates& on_v1 = migration.v1_outcomes();
      const v1::OutcomeRates& on_v2 = migration.v2_outcomes();
      row.push_back(OutcomePercent(on_v1.origin(), on_v1));
      row.push_back(OutcomePercent(on_v2.origin(), on_v2));
      row.push_back(OutcomePercent(on_v1.connect_error(), on_v1));
      row.push_back(OutcomePercent(on_v2.connect_error(), on_v2));
    }
    row.push_back(Bytes(RingMemory(view, migration.data_center())));
    row.push_back(Gauge(static_cast<double>(migration.effective_v2_ppm()) / Share::kMaxPpm, 20));
    table.AddRow(std::move(row));
  }
  return table.TakeLines(max_width);
}

}  // namespace

std::vector<std::string> TopLines(const TopView& view, Screen::Size size) {
  std::vector<std::string> lines = {Headline(view)};
  if (!view.error.empty()) lines.push_back("NOT NEWER: " + ForTerminal(view.error));
  lines.emplace_back();

  std::vector<const v1::Migration*> shown;
  for (const v1::Migration& migration : view.migrations) {
    if (!migration.is_orphaned()) shown.push_back(&migration);
  }
  std::vector<std::string> notes = NotesOf(shown);
  const auto rows_of_notes = [&notes] { return notes.empty() ? 0 : notes.size() + 1; };
  const std::size_t above = lines.size() + 1;  // with the titles
  const std::size_t room = size.rows > above ? size.rows - above : 0;
  std::string more;
  if (shown.size() + rows_of_notes() > room) {
    std::stable_sort(shown.begin(), shown.end(), ComesFirst);
    notes = NotesOf(shown);
    notes.resize(std::min(notes.size(), room / 3));
    const std::size_t taken = rows_of_notes() + 1;  // with `more`
    const std::size_t rows = std::min(room > taken ? room - taken : 0, shown.size());
    more = absl::StrCat("and ", shown.size() - rows, " more: see `ringctl migration list`");
    shown.resize(rows);
  }
  for (std::string& line : TableLines(view, shown, size.columns)) lines.push_back(std::move(line));
  if (!more.empty()) lines.push_back(std::move(more));
  if (!notes.empty()) lines.emplace_back();
  for (std::string& note : notes) lines.push_back(std::move(note));
  for (std::string& line : lines) line = std::string(CutToWidth(line, size.columns));
  return lines;
}

void WriteTop(const TopView& view, JsonWriter& json) {
  json.BeginObject();
  json.Key("server").String(view.server);
  json.Key("time").String(absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", view.time, absl::UTCTimeZone()));
  json.Key("error").String(view.error);
  json.Key("phase").String(RouterPhaseText(view.status.phase()));
  json.Key("store_is_up").Bool(view.status.store().is_up());
  json.Key("ring_memory_bytes").Int(view.status.ring_memory_bytes());
  json.Key("data_centers").BeginArray();
  for (const v1::Migration& migration : view.migrations) {
    if (migration.is_orphaned()) continue;
    const std::optional<Rates> rates = RatesOf(migration);
    json.BeginObject();
    json.Key("migration");
    WriteMigration(migration, json);
    json.Key("v1_per_second").Double(rates ? rates->v1 : 0);
    json.Key("v2_per_second").Double(rates ? rates->v2 : 0);
    json.Key("ring_memory_bytes").Int(RingMemory(view, migration.data_center()));
    json.EndObject();
  }
  json.EndArray().EndObject();
}

}  // namespace ringshift
