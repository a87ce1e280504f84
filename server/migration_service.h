// ringshift.v1.MigrationService, as its proto describes it; WatchMigrations for a completion queue.
//
// Thread safety: thread-safe. What needs the store is done by a WorkQueue, and its handler waits
// for it; a rollback waits for less than a second, and an override not at all.
#ifndef RINGSHIFT_SERVER_MIGRATION_SERVICE_H_
#define RINGSHIFT_SERVER_MIGRATION_SERVICE_H_

#include "absl/status/status.h"
#include "migration/store.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "server/forecaster.h"
#include "server/lifecycle.h"
#include "server/migration_controller.h"
#include "server/rate_window.h"
#include "server/work_queue.h"

namespace ringshift {

class MigrationService final
    : public v1::MigrationService::WithRawMethod_WatchMigrations<v1::MigrationService::Service> {
 public:
  // All outlive this object. History and default share are read from `store`, and forecasts made,
  // on the queue `reads`; changes are made by `migrations` on the queue `changes`. The queues must
  // have stopped before the server that has this service is gone: its Shutdown waits for calls that
  // are still in them.
  MigrationService(const Lifecycle& lifecycle, MigrationController& migrations,
                   MigrationStore& store, const RateWindow& rates, Forecaster& forecaster,
                   WorkQueue& changes, WorkQueue& reads)
      : lifecycle_(lifecycle),
        migrations_(migrations),
        store_(store),
        rates_(rates),
        forecaster_(forecaster),
        changes_(changes),
        reads_(reads) {}

  grpc::Status GetMigration(grpc::ServerContext* context, const v1::GetMigrationRequest* request,
                            v1::GetMigrationResponse* response) override;
  grpc::Status ListMigrations(grpc::ServerContext* context,
                              const v1::ListMigrationsRequest* request,
                              v1::ListMigrationsResponse* response) override;
  grpc::Status SetMigration(grpc::ServerContext* context, const v1::SetMigrationRequest* request,
                            v1::SetMigrationResponse* response) override;
  grpc::Status ForecastMigration(grpc::ServerContext* context,
                                 const v1::ForecastMigrationRequest* request,
                                 v1::ForecastMigrationResponse* response) override;
  grpc::Status RollbackMigration(grpc::ServerContext* context,
                                 const v1::RollbackMigrationRequest* request,
                                 v1::RollbackMigrationResponse* response) override;
  grpc::Status UnfreezeMigration(grpc::ServerContext* context,
                                 const v1::UnfreezeMigrationRequest* request,
                                 v1::UnfreezeMigrationResponse* response) override;
  grpc::Status OverrideShare(grpc::ServerContext* context, const v1::OverrideShareRequest* request,
                             v1::OverrideShareResponse* response) override;
  grpc::Status ClearOverride(grpc::ServerContext* context, const v1::ClearOverrideRequest* request,
                             v1::ClearOverrideResponse* response) override;
  grpc::Status RetireRing(grpc::ServerContext* context, const v1::RetireRingRequest* request,
                          v1::RetireRingResponse* response) override;
  grpc::Status RestoreRing(grpc::ServerContext* context, const v1::RestoreRingRequest* request,
                           v1::RestoreRingResponse* response) override;
  grpc::Status GetDefaultShare(grpc::ServerContext* context,
                               const v1::GetDefaultShareRequest* request,
                               v1::GetDefaultShareResponse* response) override;
  grpc::Status SetDefaultShare(grpc::ServerContext* context,
                               const v1::SetDefaultShareRequest* request,
                               v1::SetDefaultShareResponse* response) override;
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
  absl::Status Rollback(const v1::RollbackMigrationRequest& request, const std::string& peer,
                        v1::RollbackMigrationResponse& response);
  absl::Status Override(const v1::OverrideShareRequest& request, const std::string& peer,
                        v1::OverrideShareResponse& response);
  absl::Status Clear(const v1::ClearOverrideRequest& request, const std::string& peer,
                     v1::ClearOverrideResponse& response);
  // OK once the store has every rollback; otherwise why not, after less than a second.
  absl::Status WaitUntilSaved();

  const Lifecycle& lifecycle_;
  MigrationController& migrations_;
  MigrationStore& store_;
  const RateWindow& rates_;
  Forecaster& forecaster_;
  WorkQueue& changes_;
  WorkQueue& reads_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_SERVICE_H_
