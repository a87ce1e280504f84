#include "server/migration_service.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "routing/topology.h"
#include "server/calls.h"
#include "server/migration_proto.h"
#include "server/status.h"

namespace ringshift {
namespace {

// A page token of the history is this and the revision of the last change of the page before.
constexpr std::string_view kBeforeTokenStart = "before:";

absl::StatusOr<std::int64_t> ParseBeforeToken(std::string_view token) {
  if (!token.starts_with(kBeforeTokenStart)) return BadPageToken();
  const std::string_view digits = token.substr(kBeforeTokenStart.size());
  const char* const end = digits.data() + digits.size();
  std::int64_t revision = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, revision);
  if (error != std::errc() || stop != end || revision <= 0) return BadPageToken();
  return revision;
}

// Whether a topology may have a data center of this name.
absl::Status CheckNewName(const std::string& name) {
  constexpr std::size_t kMaxBytes = 63;
  if (name.empty()) {
    return absl::InvalidArgumentError("new_data_center is empty: name the data center");
  }
  if (name.size() > kMaxBytes || !HasDataCenterCharacters(name) || name == kOtherDataCenter) {
    return absl::InvalidArgumentError("new_data_center \"" + name.substr(0, kMaxBytes) +
                                      "\" is not the name of a data center: 1 to 63 of a-z, 0-9 "
                                      "and -, and not \"other\"");
  }
  return absl::OkStatus();
}

}  // namespace

grpc::Status MigrationService::GetMigration(grpc::ServerContext* /*context*/,
                                            const v1::GetMigrationRequest* request,
                                            v1::GetMigrationResponse* response) {
  return ToGrpcStatus(Get(*request, *response));
}

grpc::Status MigrationService::ListMigrations(grpc::ServerContext* /*context*/,
                                              const v1::ListMigrationsRequest* request,
                                              v1::ListMigrationsResponse* response) {
  return ToGrpcStatus(List(*request, *response));
}

grpc::Status MigrationService::SetMigration(grpc::ServerContext* context,
                                            const v1::SetMigrationRequest* request,
                                            v1::SetMigrationResponse* response) {
  absl::StatusOr<ShareChange> change = Parse(*request, context->peer());
  if (!change.ok()) return ToGrpcStatus(change.status());
  return QueueCall(
      changes_, context,
      [this, change = *std::move(change)] { return migrations_.SetShare(change); },
      [response](const MigrationController::Changed& changed) {
        ToProto({changed.table->migration(), changed.table}, *response->mutable_migration());
        response->set_previous_v2_ppm(changed.previous.ppm());
      });
}

grpc::Status MigrationService::ListMigrationChanges(grpc::ServerContext* context,
                                                    const v1::ListMigrationChangesRequest* request,
                                                    v1::ListMigrationChangesResponse* response) {
  absl::StatusOr<HistoryQuery> query = Parse(*request);
  if (!query.ok()) return ToGrpcStatus(query.status());
  const std::size_t page_size = query->limit;
  ++query->limit;  // whether there is more
  return QueueCall(
      reads_, context, [this, query = *std::move(query)] { return store_.History(query); },
      [response, page_size](const std::vector<MigrationChange>& changes) {
        for (std::size_t i = 0; i < changes.size(); ++i) {
          if (i == page_size) {
            response->set_next_page_token(std::string(kBeforeTokenStart) +
                                          std::to_string(changes[i - 1].revision));
            break;
          }
          ToProto(changes[i], *response->add_changes());
        }
      });
}

grpc::Status MigrationService::ForgetMigration(grpc::ServerContext* context,
                                               const v1::ForgetMigrationRequest* request,
                                               v1::ForgetMigrationResponse* response) {
  absl::StatusOr<ForgetRequest> wanted = Parse(*request, context->peer());
  if (!wanted.ok()) return ToGrpcStatus(wanted.status());
  return QueueCall(
      changes_, context, [this, wanted = *std::move(wanted)] { return migrations_.Forget(wanted); },
      [response](const Migration& migration) {
        ToProto({migration, nullptr, /*is_orphan=*/true}, *response->mutable_migration());
      });
}

grpc::Status MigrationService::RenameMigration(grpc::ServerContext* context,
                                               const v1::RenameMigrationRequest* request,
                                               v1::RenameMigrationResponse* response) {
  absl::StatusOr<RenameRequest> wanted = Parse(*request, context->peer());
  if (!wanted.ok()) return ToGrpcStatus(wanted.status());
  return QueueCall(
      changes_, context,
      [this, wanted = *std::move(wanted)]() -> absl::StatusOr<MigrationController::View> {
        absl::StatusOr<Migration> renamed = migrations_.Rename(wanted);
        if (!renamed.ok()) return renamed.status();
        return migrations_.Find(wanted.to);
      },
      [response](const MigrationController::View& view) {
        ToProto(view, *response->mutable_migration());
      });
}

absl::Status MigrationService::Get(const v1::GetMigrationRequest& request,
                                   v1::GetMigrationResponse& response) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  absl::StatusOr<MigrationController::View> view = migrations_.Find(request.data_center());
  if (!view.ok()) return view.status();
  ToProto(*view, *response.mutable_migration());
  return absl::OkStatus();
}

absl::Status MigrationService::List(const v1::ListMigrationsRequest& request,
                                    v1::ListMigrationsResponse& response) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  absl::StatusOr<std::size_t> page_size = PageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  absl::StatusOr<std::string_view> after = ParseNamePageToken(request.page_token());
  if (!after.ok()) return after.status();
  for (const MigrationController::View& view : migrations_.Migrations()) {
    const std::string& name = view.migration.data_center;
    if (!after->empty() && name <= *after) continue;
    if (static_cast<std::size_t>(response.migrations_size()) == *page_size) {
      response.set_next_page_token(NamePageToken(response.migrations().rbegin()->data_center()));
      break;
    }
    ToProto(view, *response.add_migrations());
  }
  return absl::OkStatus();
}

absl::StatusOr<ShareChange> MigrationService::Parse(const v1::SetMigrationRequest& request,
                                                    const std::string& peer) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  if (!request.has_v2_ppm()) {
    return absl::InvalidArgumentError(
        "v2_ppm is absent: give the share in parts per million, 0 to 1000000; 0 is a value too");
  }
  absl::StatusOr<Share> share = Share::FromPpm(request.v2_ppm());
  if (!share.ok()) return share.status();
  if (absl::Status fits = CheckWhoAndWhy(request.reason(), request.requested_by()); !fits.ok()) {
    return fits;
  }
  ShareChange change;
  change.data_center = request.data_center();
  change.share = *share;
  if (request.has_expected_revision()) change.expected_revision = request.expected_revision();
  change.actor = Actor(request.requested_by(), peer);
  change.reason = request.reason();
  return change;
}

absl::StatusOr<HistoryQuery> MigrationService::Parse(
    const v1::ListMigrationChangesRequest& request) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  absl::StatusOr<std::size_t> page_size = PageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  HistoryQuery query;
  query.data_center = request.data_center();
  query.limit = *page_size;
  if (!request.page_token().empty()) {
    absl::StatusOr<std::int64_t> before = ParseBeforeToken(request.page_token());
    if (!before.ok()) return before.status();
    query.before_revision = *before;
  }
  return query;
}

absl::StatusOr<ForgetRequest> MigrationService::Parse(const v1::ForgetMigrationRequest& request,
                                                      const std::string& peer) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  if (absl::Status fits = CheckWhoAndWhy(request.reason(), request.requested_by()); !fits.ok()) {
    return fits;
  }
  ForgetRequest wanted;
  wanted.data_center = request.data_center();
  if (request.has_expected_revision()) wanted.expected_revision = request.expected_revision();
  wanted.actor = Actor(request.requested_by(), peer);
  wanted.reason = request.reason();
  return wanted;
}

absl::StatusOr<RenameRequest> MigrationService::Parse(const v1::RenameMigrationRequest& request,
                                                      const std::string& peer) const {
  if (absl::Status started = lifecycle_.CheckAnswering(); !started.ok()) return started;
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  if (absl::Status named = CheckNewName(request.new_data_center()); !named.ok()) return named;
  if (request.new_data_center() == request.data_center()) {
    return absl::InvalidArgumentError("data_center and new_data_center are both \"" +
                                      request.data_center() + "\"");
  }
  if (absl::Status fits = CheckWhoAndWhy(request.reason(), request.requested_by()); !fits.ok()) {
    return fits;
  }
  RenameRequest wanted;
  wanted.from = request.data_center();
  wanted.to = request.new_data_center();
  wanted.actor = Actor(request.requested_by(), peer);
  wanted.reason = request.reason();
  return wanted;
}

}  // namespace ringshift
