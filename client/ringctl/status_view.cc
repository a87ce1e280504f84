#include "client/ringctl/status_view.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/reload_view.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"
#include "client/ringctl/topology_view.h"
#include "migration/share.h"

namespace ringshift {
namespace {

// "3 d 4 h", "4 h 5 min", "5 min 6 s": the two largest units.
std::string Age(absl::Duration age) {
  const std::int64_t seconds = std::max<std::int64_t>(absl::ToInt64Seconds(age), 0);
  const std::int64_t minutes = seconds / 60;
  const std::int64_t hours = minutes / 60;
  if (hours >= 24) return absl::StrCat(hours / 24, " d ", hours % 24, " h");
  if (hours > 0) return absl::StrCat(hours, " h ", minutes % 60, " min");
  return absl::StrCat(minutes, " min ", seconds % 60, " s");
}

std::string StoreLine(const v1::StoreStatus& store) {
  std::string line = store.name();
  absl::StrAppend(&line, store.is_up() ? ", up" : ", DOWN: ", store.is_up() ? "" : store.error());
  if (store.was_created()) absl::StrAppend(&line, ", created by this start");
  return line;
}

std::string ReloadLine(const v1::ReloadStatus& reload) {
  if (!reload.has_last_attempt_time()) return "-";
  std::string line = absl::StrCat(TimeForPeople(reload.last_attempt_time()), " by ",
                                  std::string(ReloadTriggerText(reload.last_trigger())), ": ");
  if (reload.last_error_code() != 0) {
    absl::StrAppend(
        &line, "FAILED, ",
        absl::StatusCodeToString(static_cast<absl::StatusCode>(reload.last_error_code())), ": ",
        reload.last_error());
  } else if (!reload.held().empty()) {
    absl::StrAppend(&line, "HELD, see below");
  } else {
    absl::StrAppend(&line, "all of it serves");
  }
  return line;
}

void PrintRouter(const RouterView& router, absl::Time now, Output& output) {
  const v1::GetStatusResponse& status = router.status;
  const v1::ReloadStatus& reload = status.reload();
  Table table({{""}, {""}});
  table.AddRow({"router", absl::StrCat(router.server, ", ringshiftd ", status.version())});
  table.AddRow({"phase", absl::StrCat(std::string(RouterPhaseText(status.phase())), ", up since ",
                                      TimeForPeople(status.start_time()), " (",
                                      Age(now - ToTime(status.start_time())), ")")});
  table.AddRow({"store", StoreLine(status.store())});
  table.AddRow({"topology", reload.file()});
  table.AddRow({"checksum", OrDash(reload.checksum())});
  table.AddRow({"last reload", ReloadLine(reload)});
  table.AddRow({"last success", reload.has_last_success_time()
                                    ? TimeForPeople(reload.last_success_time())
                                    : "never"});
  table.AddRow({"generation", absl::StrCat(reload.generation())});
  if (!reload.store_error().empty()) {
    table.AddRow({"not stored", absl::StrCat("a restart would not know all that serves: ",
                                             reload.store_error())});
  }
  const auto bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(status.ring_memory_bytes(), 0));
  table.AddRow(
      {"rings", absl::StrCat("of ", status.data_centers(),
                             status.data_centers() == 1 ? " data center, " : " data centers, ",
                             HumanBytes(bytes))});
  table.Print(output);
}

std::string Gauged(const v1::DataCenterSummary& data_center) {
  return Gauge(static_cast<double>(data_center.effective_v2_ppm()) / Share::kMaxPpm, 6);
}

// "1.08 1.31": of v1, if there is one, and of v2.
std::string HighestLoads(const v1::DataCenterSummary& data_center) {
  std::string loads;
  for (const v1::RingSummary& ring : data_center.rings()) {
    absl::StrAppend(&loads, loads.empty() ? "" : " ", FixedPoint(ring.max_ratio(), 2));
  }
  return loads;
}

void PrintDataCenterTable(const RouterView& router, Output& output) {
  Table table({{"DATA CENTER"},
               {"TIER"},
               {"NODES", Table::kRight},
               {"V2", Table::kRight},
               {""},
               {"EFFECTIVE", Table::kRight},
               {"V1 MEM", Table::kRight},
               {"V2 MEM", Table::kRight},
               {"MAX/MEAN", Table::kRight},
               {"CHECKSUM"}});
  for (const v1::DataCenterSummary& data_center : router.data_centers) {
    table.AddRow({data_center.name(), OrDash(data_center.tier()), absl::StrCat(data_center.nodes()),
                  RequestedShare(data_center), Gauged(data_center), EffectiveShare(data_center),
                  MemoryOf(FindRing(data_center, v1::RING_VERSION_V1)),
                  MemoryOf(FindRing(data_center, v1::RING_VERSION_V2)), HighestLoads(data_center),
                  ChecksumText(data_center.checksum())});
  }
  output.Write("\n");
  table.Print(output);
  output.Write(ShareNotes(router.data_centers));
}

void PrintHeld(const RouterView& router, Output& output) {
  const v1::ReloadStatus& reload = router.status.reload();
  output.Write("\nHELD: these serve as before, until the topology file is accepted:\n");
  PrintChanges(reload.held(), output);
  output.Write("Accept it with `ringctl topology accept " + ForTerminal(reload.checksum()) +
               ForTerminal(router.server_flag) + "`, or put the file right.\n");
}

void PrintOrphans(const RouterView& router, Output& output) {
  Table table(
      {{"ORPHAN"}, {"V2", Table::kRight}, {"REVISION", Table::kRight}, {"UPDATED"}, {"BY"}});
  for (const v1::Migration& orphan : router.orphans) {
    table.AddRow({orphan.data_center(), PercentOfPpm(orphan.v2_ppm()),
                  absl::StrCat(orphan.revision()), TimeForPeople(orphan.update_time()),
                  orphan.actor()});
  }
  output.Write("\n");
  table.Print(output);
  output.Write(
      "This router does not serve these data centers, and keeps their migrations until\n"
      "`ringctl migration forget NAME`, or `ringctl migration rename NAME NEW` for a new name.\n");
}

}  // namespace

void PrintStatus(const RouterView& router, absl::Time now, Output& output) {
  PrintRouter(router, now, output);
  if (!router.incomplete_reason.empty()) {
    output.Write("\nNo list of data centers: " + ForTerminal(router.incomplete_reason) + "\n");
  } else if (!router.data_centers.empty()) {
    PrintDataCenterTable(router, output);
  }
  if (!router.status.reload().held().empty()) PrintHeld(router, output);
  if (!router.orphans.empty()) PrintOrphans(router, output);
}

void WriteStatus(const RouterView& router, JsonWriter& json) {
  const v1::GetStatusResponse& status = router.status;
  json.BeginObject();
  json.Key("server").String(router.server);
  json.Key("version").String(status.version());
  json.Key("phase").String(RouterPhaseText(status.phase()));
  json.Key("start_time");
  WriteTime(status.has_start_time(), status.start_time(), json);
  json.Key("store").BeginObject();
  json.Key("name").String(status.store().name());
  json.Key("is_up").Bool(status.store().is_up());
  json.Key("error").String(status.store().error());
  json.Key("was_created").Bool(status.store().was_created());
  json.EndObject();
  json.Key("topology");
  WriteReloadStatus(status.reload(), json);
  json.Key("data_center_count").Int(status.data_centers());
  json.Key("ring_memory_bytes").Int(status.ring_memory_bytes());
  json.Key("data_centers").BeginArray();
  for (const v1::DataCenterSummary& data_center : router.data_centers) {
    WriteDataCenter(data_center, json);
  }
  json.EndArray();
  json.Key("orphans").BeginArray();
  for (const v1::Migration& orphan : router.orphans) WriteMigration(orphan, json);
  json.EndArray();
  json.Key("incomplete_reason").String(router.incomplete_reason);
  json.EndObject();
}

}  // namespace ringshift
