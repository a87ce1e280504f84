// ringshift.v1.MigrationService, as its proto describes it.
//
// Thread safety: thread-safe. No handler waits: a change is made by a ChangeQueue, and its call
// ends from there.
#ifndef RINGSHIFT_SERVER_MIGRATION_SERVICE_H_
#define RINGSHIFT_SERVER_MIGRATION_SERVICE_H_

#include <chrono>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/store.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "routing/routing_directory.h"
#include "server/change_queue.h"
#include "server/lifecycle.h"
#include "server/migration_controller.h"

namespace ringshift {

class MigrationService final : public v1::MigrationService::CallbackService {
 public:
  static constexpr int kMaxPageSize = 1000;
  static constexpr std::size_t kMaxReasonBytes = 1024;
  static constexpr std::size_t kMaxRequestedByBytes = 256;

  // All three outlive this object.
  MigrationService(const Lifecycle& lifecycle, const RoutingDirectory& directory,
                   MigrationController& controller)
      : lifecycle_(lifecycle), directory_(directory), changes_(controller) {}

  // Those of ChangeQueue::Stop. The server's Shutdown waits for calls that are still in the queue.
  bool StopChanges(std::chrono::steady_clock::time_point deadline) {
    return changes_.Stop(deadline);
  }

  grpc::ServerUnaryReactor* GetMigration(grpc::CallbackServerContext* context,
                                         const v1::GetMigrationRequest* request,
                                         v1::GetMigrationResponse* response) override;
  grpc::ServerUnaryReactor* ListMigrations(grpc::CallbackServerContext* context,
                                           const v1::ListMigrationsRequest* request,
                                           v1::ListMigrationsResponse* response) override;
  grpc::ServerUnaryReactor* SetMigration(grpc::CallbackServerContext* context,
                                         const v1::SetMigrationRequest* request,
                                         v1::SetMigrationResponse* response) override;

 private:
  absl::Status Get(const v1::GetMigrationRequest& request,
                   v1::GetMigrationResponse& response) const;
  absl::Status List(const v1::ListMigrationsRequest& request,
                    v1::ListMigrationsResponse& response) const;
  // What the request asks for. `peer` is where the call came from.
  absl::StatusOr<ShareChange> ToChange(const v1::SetMigrationRequest& request,
                                       const std::string& peer) const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
  ChangeQueue changes_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_SERVICE_H_
