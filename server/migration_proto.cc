#include "server/migration_proto.h"

#include <chrono>
#include <cstdint>

namespace ringshift {
namespace {

constexpr std::string_view kNameTokenStart = "after:";

v1::MigrationChangeKind ToProto(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kCreated:
      return v1::MIGRATION_CHANGE_KIND_CREATED;
    case ChangeKind::kShare:
      return v1::MIGRATION_CHANGE_KIND_SHARE;
    case ChangeKind::kRenamed:
      return v1::MIGRATION_CHANGE_KIND_RENAMED;
    case ChangeKind::kForgotten:
      return v1::MIGRATION_CHANGE_KIND_FORGOTTEN;
    case ChangeKind::kTopology:
      return v1::MIGRATION_CHANGE_KIND_TOPOLOGY;
    case ChangeKind::kRolledBack:
      return v1::MIGRATION_CHANGE_KIND_ROLLED_BACK;
    case ChangeKind::kUnfrozen:
      return v1::MIGRATION_CHANGE_KIND_UNFROZEN;
    case ChangeKind::kRetired:
      return v1::MIGRATION_CHANGE_KIND_RETIRED;
    case ChangeKind::kRestored:
      return v1::MIGRATION_CHANGE_KIND_RESTORED;
    case ChangeKind::kDefaultShare:
      return v1::MIGRATION_CHANGE_KIND_DEFAULT_SHARE;
  }
  return v1::MIGRATION_CHANGE_KIND_UNSPECIFIED;
}

v1::RingVersion ToProto(RetiredRing ring) {
  switch (ring) {
    case RetiredRing::kNone:
      return v1::RING_VERSION_UNSPECIFIED;
    case RetiredRing::kV1:
      return v1::RING_VERSION_V1;
    case RetiredRing::kV2:
      return v1::RING_VERSION_V2;
  }
  return v1::RING_VERSION_UNSPECIFIED;
}

void ToProto(const ShareOverride& share_override, v1::ShareOverride& proto) {
  proto.set_v2_ppm(share_override.share.ppm());
  proto.set_reason(share_override.reason);
  proto.set_actor(share_override.actor);
  ringshift::ToProto(share_override.time, *proto.mutable_time());
}

}  // namespace

void ToProto(WallTime time, google::protobuf::Timestamp& proto) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  proto.set_seconds(seconds.time_since_epoch().count());
  proto.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(time - seconds).count()));
}

void ToProto(const MigrationController::View& view, v1::Migration& proto) {
  const Migration& migration = view.migration;
  proto.set_data_center(migration.data_center);
  proto.set_v2_ppm(migration.share.ppm());
  proto.set_salt(migration.salt);
  proto.set_decision_algorithm(migration.decision_algorithm);
  proto.set_revision(migration.revision);
  ToProto(migration.update_time, *proto.mutable_update_time());
  proto.set_actor(migration.actor);
  proto.set_reason(migration.reason);
  proto.set_is_orphaned(view.is_orphan);
  proto.set_is_frozen(migration.is_frozen);
  proto.set_retired_ring(ToProto(migration.retired));
  ToProto(migration.share_time, *proto.mutable_share_time());
  proto.set_is_not_durable(!view.is_durable);
  proto.set_balance_warning(view.balance_warning);
  if (view.table == nullptr) {
    if (!view.is_orphan) proto.set_effective_reason("--data-centers leaves the data center out");
    return;
  }
  const RoutingTable& table = *view.table;
  proto.set_tier(table.data_center().tier());
  proto.set_has_v1(table.data_center().spec().v1.has_value());
  proto.set_effective_v2_ppm(table.share().ppm());
  proto.set_effective_reason(std::string(table.share_reason()));
  if (table.state().share_override) {
    ToProto(*table.state().share_override, *proto.mutable_share_override());
  }
}

void ToProto(const MigrationChange& change, v1::MigrationChange& proto) {
  proto.set_revision(change.revision);
  ToProto(change.time, *proto.mutable_time());
  proto.set_data_center(change.data_center);
  proto.set_kind(ToProto(change.kind));
  proto.set_actor(change.actor);
  proto.set_reason(change.reason);
  if (change.from) proto.set_from_v2_ppm(change.from->ppm());
  if (change.to) proto.set_to_v2_ppm(change.to->ppm());
  proto.set_detail(change.detail);
}

void ToProto(const DefaultShare& share, v1::DefaultShare& proto) {
  proto.set_v2_ppm(share.share.ppm());
  proto.set_revision(share.revision);
}

absl::Status CheckDataCenterIsNamed(const std::string& data_center) {
  if (!data_center.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("data_center is empty: name the data center");
}

absl::Status CheckLength(std::string_view field, const std::string& value, std::size_t limit) {
  if (value.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(field) + " has " + std::to_string(value.size()) +
                                    " bytes; at most " + std::to_string(limit) + " are kept");
}

absl::Status CheckWhoAndWhy(const std::string& reason, const std::string& requested_by) {
  if (absl::Status fits = CheckLength("reason", reason, kMaxReasonBytes); !fits.ok()) return fits;
  return CheckLength("requested_by", requested_by, kMaxRequestedByBytes);
}

std::string Actor(const std::string& requested_by, const std::string& peer) {
  return requested_by.empty() ? peer : requested_by + " (" + peer + ")";
}

absl::StatusOr<std::size_t> PageSize(int page_size) {
  if (page_size < 0) {
    return absl::InvalidArgumentError("page_size is " + std::to_string(page_size) +
                                      "; it must be 0 or above");
  }
  const int size = page_size == 0 || page_size > kMaxPageSize ? kMaxPageSize : page_size;
  return static_cast<std::size_t>(size);
}

std::string NamePageToken(const std::string& last_name) {
  return std::string(kNameTokenStart) + last_name;
}

absl::StatusOr<std::string_view> ParseNamePageToken(std::string_view token) {
  if (token.empty()) return token;
  if (!token.starts_with(kNameTokenStart)) return BadPageToken();
  const std::string_view name = token.substr(kNameTokenStart.size());
  if (name.empty() || !HasDataCenterCharacters(name)) return BadPageToken();
  return name;
}

bool HasDataCenterCharacters(std::string_view name) {
  return name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

absl::Status BadPageToken() {
  return absl::InvalidArgumentError(
      "page_token is not one that this method gave; leave it empty for the first page");
}

}  // namespace ringshift
