// ringshift.v1.MigrationService, as its proto describes it.
//
// Thread safety: thread-safe. What needs the store is done by a WorkQueue, and its handler waits
// for it.
#ifndef RINGSHIFT_SERVER_MIGRATION_SERVICE_H_
#define RINGSHIFT_SERVER_MIGRATION_SERVICE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/store.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "server/lifecycle.h"
#include "server/migration_controller.h"
#include "server/work_queue.h"

namespace ringshift {

class MigrationService final : public v1::MigrationService::Service {
 public:
  // All outlive this object. The history is read from `store` on the queue `reads`; changes are
  // made by `migrations` on the queue `changes`. The queues must have stopped before the server
  // that has this service is gone: its Shutdown waits for calls that are still in them.
  MigrationService(const Lifecycle& lifecycle, MigrationController& migrations,
                   MigrationStore& store, WorkQueue& changes, WorkQueue& reads)
      : lifecycle_(lifecycle),
        migrations_(migrations),
        store_(store),
        changes_(changes),
        reads_(reads) {}

  grpc::Status GetMigration(grpc::ServerContext* context, const v1::GetMigrationRequest* request,
                            v1::GetMigrationResponse* response) override;
  grpc::Status ListMigrations(grpc::ServerContext* context,
                              const v1::ListMigrationsRequest* request,
                              v1::ListMigrationsResponse* response) override;
  grpc::Status SetMigration(grpc::ServerContext* context, const v1::SetMigrationRequest* request,
                            v1::SetMigrationResponse* response) override;
  grpc::Status ListMigrationChanges(grpc::ServerContext* context,
                                    const v1::ListMigrationChangesRequest* request,
                                    v1::ListMigrationChangesResponse* response) override;
  grpc::Status ForgetMigration(grpc::ServerContext* context,
                               const v1::ForgetMigrationRequest* request,
                               v1::ForgetMigrationResponse* response) override;
  grpc::Status RenameMigration(grpc::ServerContext* context,
                               const v1::RenameMigrationRequest* request,
                               v1::RenameMigrationResponse* response) override;

 private:
  absl::Status Get(const v1::GetMigrationRequest& request,
                   v1::GetMigrationResponse& response) const;
  absl::Status List(const v1::ListMigrationsRequest& request,
                    v1::ListMigrationsResponse& response) const;
  // What the requests ask for. `peer` is where the call came from.
  absl::StatusOr<ShareChange> Parse(const v1::SetMigrationRequest& request,
                                    const std::string& peer) const;
  absl::StatusOr<HistoryQuery> Parse(const v1::ListMigrationChangesRequest& request) const;
  absl::StatusOr<ForgetRequest> Parse(const v1::ForgetMigrationRequest& request,
                                      const std::string& peer) const;
  absl::StatusOr<RenameRequest> Parse(const v1::RenameMigrationRequest& request,
                                      const std::string& peer) const;

  const Lifecycle& lifecycle_;
  MigrationController& migrations_;
  MigrationStore& store_;
  WorkQueue& changes_;
  WorkQueue& reads_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_SERVICE_H_
