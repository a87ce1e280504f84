#include "client/ringctl/reload_view.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

// What moves is measured between two topologies: not for a data center that is new or gone.
bool IsMeasured(const v1::TopologyChange& change) { return !change.moved_pool().empty(); }

void AddRow(const v1::TopologyChange& change, Table& table) {
  table.AddRow({change.data_center(), std::string(ReloadOutcomeText(change.outcome())),
                absl::StrCat(change.nodes_before(), " -> ", change.nodes_after()),
                absl::StrCat(change.nodes_added()), absl::StrCat(change.nodes_removed()),
                absl::StrCat(change.nodes_reweighted()), absl::StrCat(change.nodes_readdressed()),
                IsMeasured(change) ? PercentOfRatio(change.moved_ratio()) : "-",
                OrDash(change.moved_pool())});
}

void WriteChange(const v1::TopologyChange& change, JsonWriter& json) {
  json.BeginObject();
  json.Key("data_center").String(change.data_center());
  json.Key("outcome").String(ReloadOutcomeText(change.outcome()));
  json.Key("reason").String(change.reason());
  json.Key("nodes_before").Int(change.nodes_before());
  json.Key("nodes_after").Int(change.nodes_after());
  json.Key("nodes_added").Int(change.nodes_added());
  json.Key("nodes_removed").Int(change.nodes_removed());
  json.Key("nodes_reweighted").Int(change.nodes_reweighted());
  json.Key("nodes_readdressed").Int(change.nodes_readdressed());
  json.Key("moved_ratio").Double(change.moved_ratio());
  json.Key("moved_pool").String(change.moved_pool());
  json.Key("moved_ratio_v1").Double(change.moved_ratio_v1());
  json.Key("moved_ratio_v2").Double(change.moved_ratio_v2());
  json.EndObject();
}

}  // namespace

void PrintChanges(const TopologyChanges& changes, Output& output) {
  Table table({{"DATA CENTER"},
               {"OUTCOME"},
               {"NODES"},
               {"ADDED", Table::kRight},
               {"REMOVED", Table::kRight},
               {"REWEIGHTED", Table::kRight},
               {"READDRESSED", Table::kRight},
               {"MOVED", Table::kRight},
               {"POOL"}});
  int unchanged = 0;
  std::string reasons;
  for (const v1::TopologyChange& change : changes) {
    if (change.outcome() == v1::RELOAD_OUTCOME_UNCHANGED) {
      ++unchanged;
      continue;
    }
    AddRow(change, table);
    if (change.reason().empty()) continue;
    absl::StrAppend(&reasons, ForTerminal(change.data_center()), ": ", ForTerminal(change.reason()),
                    "\n");
  }
  if (table.pending_rows() > 0) table.Print(output);
  output.Write(reasons);
  if (unchanged > 0) {
    output.Write(absl::StrCat(unchanged, unchanged == 1 ? " data center is" : " data centers are",
                              " as before.\n"));
  }
}

void WriteChanges(const TopologyChanges& changes, JsonWriter& json) {
  json.BeginArray();
  for (const v1::TopologyChange& change : changes) WriteChange(change, json);
  json.EndArray();
}

void WriteReloadStatus(const v1::ReloadStatus& status, JsonWriter& json) {
  json.BeginObject();
  json.Key("file").String(status.file());
  json.Key("checksum").String(status.checksum());
  json.Key("last_attempt_time");
  WriteTime(status.has_last_attempt_time(), status.last_attempt_time(), json);
  json.Key("last_trigger").String(ReloadTriggerText(status.last_trigger()));
  json.Key("last_error_code").Int(status.last_error_code());
  json.Key("last_error").String(status.last_error());
  json.Key("last_success_time");
  WriteTime(status.has_last_success_time(), status.last_success_time(), json);
  json.Key("generation").Int(status.generation());
  json.Key("held");
  WriteChanges(status.held(), json);
  json.Key("store_error").String(status.store_error());
  json.EndObject();
}

}  // namespace ringshift
