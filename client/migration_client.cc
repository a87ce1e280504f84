#include "client/migration_client.h"

#include <utility>

namespace ringshift {

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

}  // namespace ringshift
