// The calls of MigrationService that ringctl makes, with the deadline of a Remote.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_MIGRATION_CLIENT_H_
#define RINGSHIFT_CLIENT_RINGCTL_MIGRATION_CLIENT_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/ringctl/remote.h"
#include "ringshift/v1/migration.grpc.pb.h"

namespace ringshift {

class MigrationClient {
 public:
  // `remote` must outlive the client.
  explicit MigrationClient(const Remote& remote);

  grpc::Status Get(const std::string& data_center, v1::Migration& migration);
  // All pages.
  grpc::Status List(std::vector<v1::Migration>& migrations);
  grpc::Status Set(const v1::SetMigrationRequest& request, v1::SetMigrationResponse& response);

  // The newest `limit` changes, of `data_center` or, where that is empty, of all. `has_more`: there
  // are older ones.
  struct History {
    std::vector<v1::MigrationChange> changes;
    bool has_more = false;
  };
  grpc::Status GetHistory(const std::string& data_center, std::int32_t limit, History& history);

  // The migration as it was.
  grpc::Status Forget(const v1::ForgetMigrationRequest& request, v1::Migration& migration);
  // The migration under its new name.
  grpc::Status Rename(const v1::RenameMigrationRequest& request, v1::Migration& migration);

 private:
  const Remote& remote_;
  const std::unique_ptr<v1::MigrationService::Stub> stub_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_MIGRATION_CLIENT_H_
