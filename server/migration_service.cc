#include "server/migration_service.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/status.h"

namespace ringshift {
namespace {

// A page token is this and the name of the last data center of the page before. A data center that
// has gone meanwhile does no harm.
constexpr std::string_view kTokenStart = "after:";

void ToProto(WallTime time, google::protobuf::Timestamp& proto) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  proto.set_seconds(seconds.time_since_epoch().count());
  proto.set_nanos(static_cast<std::int32_t>(std::chrono::nanoseconds(time - seconds).count()));
}

void ToProto(const RoutingTable& table, v1::Migration& proto) {
  const Migration& migration = table.migration();
  proto.set_data_center(migration.data_center);
  proto.set_v2_ppm(table.share().ppm());
  proto.set_salt(migration.salt);
  proto.set_decision_algorithm(migration.decision_algorithm);
  proto.set_revision(migration.revision);
  ToProto(migration.update_time, *proto.mutable_update_time());
  proto.set_actor(migration.actor);
  proto.set_reason(migration.reason);
  proto.set_tier(table.data_center().tier());
  proto.set_has_v1(table.data_center().v1() != nullptr);
}

absl::Status CheckDataCenter(const std::string& data_center) {
  if (!data_center.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError("data_center is empty: name the data center");
}

absl::Status CheckLength(std::string_view field, const std::string& value, std::size_t limit) {
  if (value.size() <= limit) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(field) + " has " + std::to_string(value.size()) +
                                    " bytes; at most " + std::to_string(limit) + " are kept");
}

// The data center that the page comes after; "" for the first page.
absl::StatusOr<std::string_view> ParsePageToken(std::string_view token) {
  if (token.empty()) return token;
  const bool has_start = token.starts_with(kTokenStart);
  const std::string_view name = has_start ? token.substr(kTokenStart.size()) : "";
  if (name.empty() ||
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "page_token is not one that ListMigrations gave; leave it empty for the first page");
  }
  return name;
}

grpc::ServerUnaryReactor* Finish(grpc::CallbackServerContext* context, const absl::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(ToGrpcStatus(status));
  return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* MigrationService::GetMigration(grpc::CallbackServerContext* context,
                                                         const v1::GetMigrationRequest* request,
                                                         v1::GetMigrationResponse* response) {
  return Finish(context, Get(*request, *response));
}

grpc::ServerUnaryReactor* MigrationService::ListMigrations(grpc::CallbackServerContext* context,
                                                           const v1::ListMigrationsRequest* request,
                                                           v1::ListMigrationsResponse* response) {
  return Finish(context, List(*request, *response));
}

grpc::ServerUnaryReactor* MigrationService::SetMigration(grpc::CallbackServerContext* context,
                                                         const v1::SetMigrationRequest* request,
                                                         v1::SetMigrationResponse* response) {
  absl::StatusOr<ShareChange> change = ToChange(*request, context->peer());
  if (!change.ok()) return Finish(context, change.status());
  // The call's objects live until Finish.
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  changes_.Add({*std::move(change),
                [context] {
                  return !context->IsCancelled() &&
                         std::chrono::system_clock::now() < context->deadline();
                },
                [reactor, response](const ChangeQueue::Result& changed) {
                  if (changed.ok()) {
                    ToProto(*changed->table, *response->mutable_migration());
                    response->set_previous_v2_ppm(changed->previous.ppm());
                  }
                  reactor->Finish(ToGrpcStatus(changed.status()));
                }});
  return reactor;
}

absl::Status MigrationService::Get(const v1::GetMigrationRequest& request,
                                   v1::GetMigrationResponse& response) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (absl::Status named = CheckDataCenter(request.data_center()); !named.ok()) return named;
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      directory_.Find(request.data_center());
  if (!table.ok()) return table.status();
  ToProto(**table, *response.mutable_migration());
  return absl::OkStatus();
}

absl::Status MigrationService::List(const v1::ListMigrationsRequest& request,
                                    v1::ListMigrationsResponse& response) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (request.page_size() < 0) {
    return absl::InvalidArgumentError("page_size is " + std::to_string(request.page_size()) +
                                      "; it must be 0 or above");
  }
  absl::StatusOr<std::string_view> after = ParsePageToken(request.page_token());
  if (!after.ok()) return after.status();
  const int page_size = request.page_size() == 0 || request.page_size() > kMaxPageSize
                            ? kMaxPageSize
                            : request.page_size();
  for (const std::shared_ptr<const RoutingTable>& table : directory_.Tables()) {
    const std::string& name = table->data_center().name();
    if (name <= *after) continue;
    if (response.migrations_size() == page_size) {
      const std::string& last = response.migrations(page_size - 1).data_center();
      response.set_next_page_token(std::string(kTokenStart) + last);
      break;
    }
    ToProto(*table, *response.add_migrations());
  }
  return absl::OkStatus();
}

absl::StatusOr<ShareChange> MigrationService::ToChange(const v1::SetMigrationRequest& request,
                                                       const std::string& peer) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (absl::Status named = CheckDataCenter(request.data_center()); !named.ok()) return named;
  if (!request.has_v2_ppm()) {
    return absl::InvalidArgumentError(
        "v2_ppm is absent: give the share in parts per million, 0 to 1000000; 0 is a value too");
  }
  absl::StatusOr<Share> share = Share::FromPpm(request.v2_ppm());
  if (!share.ok()) return share.status();
  if (absl::Status fits = CheckLength("reason", request.reason(), kMaxReasonBytes); !fits.ok()) {
    return fits;
  }
  if (absl::Status fits = CheckLength("requested_by", request.requested_by(), kMaxRequestedByBytes);
      !fits.ok()) {
    return fits;
  }
  ShareChange change;
  change.data_center = request.data_center();
  change.share = *share;
  if (request.has_expected_revision()) change.expected_revision = request.expected_revision();
  change.actor = request.requested_by().empty() ? peer : request.requested_by() + " (" + peer + ")";
  change.reason = request.reason();
  return change;
}

}  // namespace ringshift
