#include "client/ringctl/watch_view.h"

#include <google/protobuf/util/message_differencer.h>

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

std::string Line(absl::Time time, const std::string& data_center, const std::string& what) {
  return absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%SZ", time, absl::UTCTimeZone()), "  ",
                      ForTerminal(data_center), "  ", ForTerminal(what), "\n");
}

// Whether somebody has changed it. Otherwise it is the router that comes or goes on.
bool IsChangedBySomebody(const v1::Migration* before, const v1::Migration& migration) {
  return before == nullptr || before->revision() != migration.revision() ||
         before->actor() != migration.actor() || before->reason() != migration.reason() ||
         ToTime(before->update_time()) != ToTime(migration.update_time());
}

// "0% -> 12.5%, answers with 0%: v2 is being built, frozen, by ops@host: REASON".
std::string Describe(const v1::Migration* before, const v1::Migration& migration) {
  std::string text = PercentOfPpm(migration.v2_ppm());
  if (before != nullptr && before->v2_ppm() != migration.v2_ppm()) {
    text = absl::StrCat(PercentOfPpm(before->v2_ppm()), " -> ", text);
  }
  if (migration.is_orphaned()) {
    absl::StrAppend(&text, ", orphaned");
  } else if (!migration.effective_reason().empty()) {
    absl::StrAppend(&text, ", answers with ", EffectiveText(migration), ": ",
                    migration.effective_reason());
  }
  const std::string marks = MarksText(migration);
  if (!marks.empty()) absl::StrAppend(&text, ", ", marks);
  if (before != nullptr && before->has_share_override() && !migration.has_share_override()) {
    absl::StrAppend(&text, ", override ended");
  }
  if (!IsChangedBySomebody(before, migration)) return text;
  absl::StrAppend(&text, ", by ", migration.actor());
  if (!migration.reason().empty()) absl::StrAppend(&text, ": ", migration.reason());
  return text;
}

}  // namespace

void WatchView::Add(const v1::WatchMigrationsResponse& response, absl::Time now, Output& output) {
  pending_.MergeFrom(response);
  if (response.cursor().empty()) return;
  Show(now, output);
  pending_.Clear();
}

void WatchView::Show(absl::Time now, Output& output) {
  std::set<std::string> gone(pending_.removed().begin(), pending_.removed().end());
  if (pending_.is_snapshot()) {
    for (const auto& [name, migration] : shown_) gone.insert(name);
    for (const v1::Migration& migration : pending_.migrations()) {
      gone.erase(migration.data_center());
    }
  }
  for (const std::string& name : gone) Remove(name, now, output);
  for (const v1::Migration& migration : pending_.migrations()) {
    AddMigration(migration, now, output);
  }
}

void WatchView::AddMigration(const v1::Migration& migration, absl::Time now, Output& output) {
  v1::Migration state = migration;
  state.clear_measured_v2_ppm();
  state.clear_requests_per_second();
  state.clear_errors_per_second();
  state.clear_v1_outcomes();
  state.clear_v2_outcomes();
  const auto found = shown_.find(state.data_center());
  const v1::Migration* before = found == shown_.end() ? nullptr : &found->second;
  if (before != nullptr && google::protobuf::util::MessageDifferencer::Equals(*before, state)) {
    return;
  }
  if (as_json_) {
    JsonWriter json;
    json.BeginObject().Key("event").String(before == nullptr ? "present" : "changed");
    json.Key("previous_v2_ppm");
    WritePpm(before != nullptr, before == nullptr ? 0 : before->v2_ppm(), json);
    json.Key("migration");
    WriteMigration(migration, json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    const bool is_of_store = before == nullptr || before->revision() != state.revision();
    output.Write(Line(is_of_store ? ToTime(state.update_time()) : now, state.data_center(),
                      Describe(before, state)));
  }
  shown_[state.data_center()] = std::move(state);
}

void WatchView::Remove(const std::string& data_center, absl::Time now, Output& output) {
  shown_.erase(data_center);
  if (as_json_) {
    JsonWriter json;
    json.BeginObject().Key("event").String("removed");
    json.Key("data_center").String(data_center).EndObject();
    output.Write(json.TakeLine());
  } else {
    output.Write(Line(now, data_center, "gone"));
  }
}

}  // namespace ringshift
