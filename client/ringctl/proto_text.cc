#include "client/ringctl/proto_text.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {

absl::Time ToTime(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

std::string TimeForPeople(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", ToTime(time), absl::UTCTimeZone());
}

std::string TimeForScripts(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", ToTime(time), absl::UTCTimeZone());
}

std::string PercentOfPpm(std::int32_t ppm) {
  const absl::StatusOr<Share> share = Share::FromPpm(ppm);
  return share.ok() ? share->ToPercent() + "%" : absl::StrCat(ppm, " ppm");
}

std::string PercentOfRatio(double ratio) {
  const std::string text = FixedPoint(100 * ratio, 4);
  if (ratio == 0) return "0%";
  return text == "0.0000" ? "<0.0001%" : text + "%";
}

std::string ChecksumText(std::uint64_t checksum) { return absl::StrFormat("%016x", checksum); }

std::string OrDash(std::string_view text) { return text.empty() ? "-" : std::string(text); }

std::string_view RingLayoutText(v1::RingLayout layout) {
  switch (layout) {
    case v1::RING_LAYOUT_WIDE:
      return "wide";
    case v1::RING_LAYOUT_PACKED:
      return "packed";
    case v1::RING_LAYOUT_DENSE:
      return "dense";
    default:
      return "unknown";
  }
}

std::string_view ChangeKindText(v1::MigrationChangeKind kind) {
  switch (kind) {
    case v1::MIGRATION_CHANGE_KIND_CREATED:
      return "created";
    case v1::MIGRATION_CHANGE_KIND_SHARE:
      return "share";
    case v1::MIGRATION_CHANGE_KIND_RENAMED:
      return "renamed";
    case v1::MIGRATION_CHANGE_KIND_FORGOTTEN:
      return "forgotten";
    case v1::MIGRATION_CHANGE_KIND_TOPOLOGY:
      return "topology";
    case v1::MIGRATION_CHANGE_KIND_ROLLED_BACK:
      return "rolled_back";
    case v1::MIGRATION_CHANGE_KIND_UNFROZEN:
      return "unfrozen";
    case v1::MIGRATION_CHANGE_KIND_RETIRED:
      return "retired";
    case v1::MIGRATION_CHANGE_KIND_RESTORED:
      return "restored";
    case v1::MIGRATION_CHANGE_KIND_DEFAULT_SHARE:
      return "default_share";
    default:
      return "unknown";
  }
}

std::string_view DurabilityText(v1::Durability durability) {
  switch (durability) {
    case v1::DURABILITY_DURABLE:
      return "durable";
    case v1::DURABILITY_APPLIED_NOT_DURABLE:
      return "applied_not_durable";
    case v1::DURABILITY_NOT_IN_FORCE:
      return "not_in_force";
    default:
      return "unknown";
  }
}

std::string_view ReloadOutcomeText(v1::ReloadOutcome outcome) {
  switch (outcome) {
    case v1::RELOAD_OUTCOME_UNCHANGED:
      return "unchanged";
    case v1::RELOAD_OUTCOME_APPLIED:
      return "applied";
    case v1::RELOAD_OUTCOME_HELD:
      return "held";
    case v1::RELOAD_OUTCOME_FAILED:
      return "failed";
    default:
      return "unknown";
  }
}

std::string_view ReloadTriggerText(v1::ReloadTrigger trigger) {
  switch (trigger) {
    case v1::RELOAD_TRIGGER_START:
      return "start";
    case v1::RELOAD_TRIGGER_SIGNAL:
      return "signal";
    case v1::RELOAD_TRIGGER_CALL:
      return "call";
    case v1::RELOAD_TRIGGER_FILE:
      return "file";
    default:
      return "unknown";
  }
}

std::string_view RouterPhaseText(v1::RouterPhase phase) {
  switch (phase) {
    case v1::ROUTER_PHASE_STARTING:
      return "starting";
    case v1::ROUTER_PHASE_SERVING:
      return "serving";
    case v1::ROUTER_PHASE_DRAINING:
      return "draining";
    default:
      return "unknown";
  }
}

void WriteTime(bool is_present, const google::protobuf::Timestamp& time, JsonWriter& json) {
  if (is_present) {
    json.String(TimeForScripts(time));
  } else {
    json.Null();
  }
}

void WritePpm(bool is_present, std::int32_t ppm, JsonWriter& json) {
  if (is_present) {
    json.Int(ppm);
  } else {
    json.Null();
  }
}

}  // namespace ringshift
