#include "client/ringctl/migration_client.h"

#include <algorithm>
#include <cstddef>
#include <utility>

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

grpc::Status MigrationClient::Set(const v1::SetMigrationRequest& request,
                                  v1::SetMigrationResponse& response) {
  grpc::ClientContext context;
  remote_.SetDeadline(context);
  return stub_->SetMigration(&context, request, &response);
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

}  // namespace ringshift
