#include "client/ringctl/migration_client.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ringshift {
namespace {

// What a router returns at most.
constexpr std::int32_t kMaxPage = 1000;

}  // namespace

MigrationClient::MigrationClient(const Remote& remote)
    : remote_(remote), stub_(v1::MigrationService::NewStub(remote.channel())) {}

grpc::Status MigrationClient::Get(const std::string& data_center, v1::Migration& migration) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  v1::GetMigrationRequest request;
  request.set_data_center(data_center);
  v1::GetMigrationResponse response;
  const grpc::Status status = stub_->GetMigration(&context, request, &response);
  if (status.ok()) migration = std::move(*response.mutable_migration());
  return status;
}

grpc::Status MigrationClient::List(std::vector<v1::Migration>& migrations) {
  v1::ListMigrationsRequest request;
  do {
    grpc::ClientContext context;
    remote_.SetDeadline(context);
    v1::ListMigrationsResponse response;
    const grpc::Status status = stub_->ListMigrations(&context, request, &response);
    if (!status.ok()) return status;
    for (v1::Migration& migration : *response.mutable_migrations()) {
      migrations.push_back(std::move(migration));
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty());
  return grpc::Status::OK;
}

grpc::Status MigrationClient::Select(const v1::Selector& selector,
                                     std::vector<v1::Migration>& migrations) {
  // Has the router's own words for a name that it does not know.
  const auto get = [&](const std::string& name) { return Get(name, migrations.emplace_back()); };
  if (selector.data_centers_size() == 1) return get(selector.data_centers(0));
  std::vector<v1::Migration> all;
  const grpc::Status listed = List(all);
  if (!listed.ok()) return listed;
  std::set<std::string> wanted(selector.data_centers().begin(), selector.data_centers().end());
  std::set<std::string> tiers;
  for (v1::Migration& migration : all) {
    const bool is_served = migration.has_effective_v2_ppm();
    if (is_served && !migration.tier().empty()) tiers.insert(migration.tier());
    const bool is_wanted =
        wanted.erase(migration.data_center()) > 0 ||
        (is_served &&
         (selector.all() || (!selector.tier().empty() && migration.tier() == selector.tier())));
    if (is_wanted) migrations.push_back(std::move(migration));
  }
  for (const std::string& name : wanted) {
    const grpc::Status status = get(name);
    if (!status.ok()) return status;
  }
  if (!migrations.empty()) return grpc::Status::OK;
  if (selector.all()) return {grpc::StatusCode::NOT_FOUND, "no data center is served"};
  return {grpc::StatusCode::NOT_FOUND,
          absl::StrCat("no data center of tier ", selector.tier(),
                       " is served; tiers: ", tiers.empty() ? "none" : absl::StrJoin(tiers, ", "))};
}

grpc::Status MigrationClient::Set(const v1::SetMigrationRequest& request,
                                  v1::SetMigrationResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->SetMigration(&context, request, &response);
}

grpc::Status MigrationClient::Forecast(const v1::ForecastMigrationRequest& request,
                                       v1::ForecastMigrationResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->ForecastMigration(&context, request, &response);
}

grpc::Status MigrationClient::Rollback(const v1::RollbackMigrationRequest& request,
                                       v1::RollbackMigrationResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->RollbackMigration(&context, request, &response);
}

grpc::Status MigrationClient::Unfreeze(const v1::UnfreezeMigrationRequest& request,
                                       v1::UnfreezeMigrationResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->UnfreezeMigration(&context, request, &response);
}

grpc::Status MigrationClient::Override(const v1::OverrideShareRequest& request,
                                       v1::OverrideShareResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->OverrideShare(&context, request, &response);
}

grpc::Status MigrationClient::Clear(const v1::ClearOverrideRequest& request,
                                    v1::ClearOverrideResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->ClearOverride(&context, request, &response);
}

grpc::Status MigrationClient::Retire(const v1::RetireRingRequest& request,
                                     v1::RetireRingResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->RetireRing(&context, request, &response);
}

grpc::Status MigrationClient::Restore(const v1::RestoreRingRequest& request,
                                      v1::RestoreRingResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->RestoreRing(&context, request, &response);
}

grpc::Status MigrationClient::SetDefault(const v1::SetDefaultShareRequest& request,
                                         v1::SetDefaultShareResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->SetDefaultShare(&context, request, &response);
}

grpc::Status MigrationClient::GetDefault(v1::DefaultShare& default_share) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  v1::GetDefaultShareResponse response;
  const grpc::Status status =
      stub_->GetDefaultShare(&context, v1::GetDefaultShareRequest(), &response);
  if (status.ok()) default_share = std::move(*response.mutable_default_share());
  return status;
}

grpc::Status MigrationClient::GetHistory(const std::string& data_center, std::int32_t limit,
                                         History& history) {
  v1::ListMigrationChangesRequest request;
  request.set_data_center(data_center);
  do {
    grpc::ClientContext context;
    remote_.SetDeadline(context);
    const auto count = static_cast<std::int32_t>(history.changes.size());
    request.set_page_size(std::min(limit - count, kMaxPage));
    v1::ListMigrationChangesResponse response;
    const grpc::Status status = stub_->ListMigrationChanges(&context, request, &response);
    if (!status.ok()) return status;
    for (v1::MigrationChange& change : *response.mutable_changes()) {
      history.changes.push_back(std::move(change));
    }
    request.set_page_token(response.next_page_token());
  } while (!request.page_token().empty() &&
           history.changes.size() < static_cast<std::size_t>(limit));
  history.has_more = !request.page_token().empty();
  return grpc::Status::OK;
}

grpc::Status MigrationClient::Forget(const v1::ForgetMigrationRequest& request,
                                     v1::Migration& migration) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  v1::ForgetMigrationResponse response;
  const grpc::Status status = stub_->ForgetMigration(&context, request, &response);
  if (status.ok()) migration = std::move(*response.mutable_migration());
  return status;
}

grpc::Status MigrationClient::Rename(const v1::RenameMigrationRequest& request,
                                     v1::Migration& migration) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  v1::RenameMigrationResponse response;
  const grpc::Status status = stub_->RenameMigration(&context, request, &response);
  if (status.ok()) migration = std::move(*response.mutable_migration());
  return status;
}

grpc::Status MigrationClient::Watch(
    const v1::WatchMigrationsRequest& request,
    const std::function<bool(const v1::WatchMigrationsResponse&)>& on_response) {
  grpc::ClientContext context;
  const auto reader = stub_->WatchMigrations(&context, request);
  v1::WatchMigrationsResponse response;
  while (reader->Read(&response)) {
    if (on_response(response)) continue;
    context.TryCancel();
    break;
  }
  return reader->Finish();
}

}  // namespace ringshift
