// The calls of MigrationService that ringctl makes, with the deadline of a Remote.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_MIGRATION_CLIENT_H_
#define RINGSHIFT_CLIENT_RINGCTL_MIGRATION_CLIENT_H_

#include <grpcpp/support/status.h>

#include <cstdint>
#include <functional>
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
  // Those that `selector` names, by name. NOT_FOUND: one of them is not there, or there are none.
  grpc::Status Select(const v1::Selector& selector, std::vector<v1::Migration>& migrations);

  grpc::Status Set(const v1::SetMigrationRequest& request, v1::SetMigrationResponse& response);
  grpc::Status Forecast(const v1::ForecastMigrationRequest& request,
                        v1::ForecastMigrationResponse& response);
  grpc::Status Rollback(const v1::RollbackMigrationRequest& request,
                        v1::RollbackMigrationResponse& response);
  grpc::Status Unfreeze(const v1::UnfreezeMigrationRequest& request,
                        v1::UnfreezeMigrationResponse& response);
  grpc::Status Override(const v1::OverrideShareRequest& request,
                        v1::OverrideShareResponse& response);
  grpc::Status Clear(const v1::ClearOverrideRequest& request, v1::ClearOverrideResponse& response);
  grpc::Status Retire(const v1::RetireRingRequest& request, v1::RetireRingResponse& response);
  grpc::Status Restore(const v1::RestoreRingRequest& request, v1::RestoreRingResponse& response);
  grpc::Status GetDefault(v1::DefaultShare& default_share);
  grpc::Status SetDefault(const v1::SetDefaultShareRequest& request,
                          v1::SetDefaultShareResponse& response);

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

  // Calls `on_response` with what comes, until it returns false or the stream ends: then returns
  // what it ended with. Has no deadline.
  grpc::Status Watch(const v1::WatchMigrationsRequest& request,
                     const std::function<bool(const v1::WatchMigrationsResponse&)>& on_response);

 private:
  const Remote& remote_;
  const std::unique_ptr<v1::MigrationService::Stub> stub_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_MIGRATION_CLIENT_H_
