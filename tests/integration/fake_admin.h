// The admin port of a router that answers what a test has put into it, for what a real one cannot
// be brought to do at will.
//
// Thread safety: set it up before the first call, and look at it after the last one.
#ifndef RINGSHIFT_TESTS_INTEGRATION_FAKE_ADMIN_H_
#define RINGSHIFT_TESTS_INTEGRATION_FAKE_ADMIN_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/synchronization/notification.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/status.grpc.pb.h"
#include "ringshift/v1/topology.grpc.pb.h"

namespace ringshift::testing {

class FakeAdmin {
 public:
  FakeAdmin() : status_(*this), topology_(*this), migrations_(*this) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&status_);
    builder.RegisterService(&topology_);
    builder.RegisterService(&migrations_);
    server_ = builder.BuildAndStart();
    address_ = "127.0.0.1:" + std::to_string(port);
  }

  ~FakeAdmin() { end_.Notify(); }

  const std::string& address() const { return address_; }

  // The answers.
  v1::GetStatusResponse status;
  grpc::Status lists = grpc::Status::OK;            // of ListDataCenters
  grpc::Status change = grpc::Status::OK;           // of every call that changes something
  v1::ReloadTopologyResponse reload;                // of both that take up a topology
  std::map<std::string, v1::Migration> migrations;  // by data center; changes change them
  grpc::Status forecast_status = grpc::Status::OK;  // of ForecastMigration
  v1::ForecastMigrationResponse forecast;
  v1::RollbackMigrationResponse rollback;  // but for its changes
  std::vector<std::string> has_no_v1;      // these are not rolled back
  v1::DefaultShare default_share;
  std::int64_t retired_bytes = 0;
  // What WatchMigrations sends, call for call; each call but the last one ends with UNAVAILABLE,
  // the last one with this object.
  std::vector<std::vector<v1::WatchMigrationsResponse>> watch;
  std::vector<v1::DataCenterSummary> data_centers;
  std::vector<v1::MigrationChange> history;

  // The calls that came.
  std::vector<v1::ReloadTopologyRequest> reloads;
  std::vector<v1::AcceptTopologyRequest> accepts;
  std::vector<v1::ForgetMigrationRequest> forgets;
  std::vector<v1::RenameMigrationRequest> renames;
  std::vector<v1::SetMigrationRequest> sets;
  std::vector<v1::ForecastMigrationRequest> forecasts;
  std::vector<v1::RollbackMigrationRequest> rollbacks;
  std::vector<v1::UnfreezeMigrationRequest> unfreezes;
  std::vector<v1::OverrideShareRequest> overrides;
  std::vector<v1::ClearOverrideRequest> clears;
  std::vector<v1::RetireRingRequest> retires;
  std::vector<v1::RestoreRingRequest> restores;
  std::vector<v1::SetDefaultShareRequest> default_shares;
  std::vector<v1::WatchMigrationsRequest> watches;
  // Called in SetMigration before it does anything, and in ListMigrations when it has its answer:
  // what happens meanwhile.
  std::function<void()> before_set = [] {};
  std::function<void()> after_list = [] {};

 private:
  struct Status : v1::StatusService::Service {
    explicit Status(FakeAdmin& admin) : fake(admin) {}
    grpc::Status GetStatus(grpc::ServerContext*, const v1::GetStatusRequest*,
                           v1::GetStatusResponse* response) override {
      *response = fake.status;
      return grpc::Status::OK;
    }
    FakeAdmin& fake;
  };

  struct Topology : v1::TopologyService::Service {
    explicit Topology(FakeAdmin& admin) : fake(admin) {}
    grpc::Status ListDataCenters(grpc::ServerContext*, const v1::ListDataCentersRequest*,
                                 v1::ListDataCentersResponse* response) override {
      for (const v1::DataCenterSummary& data_center : fake.data_centers) {
        *response->add_data_centers() = data_center;
      }
      return fake.lists;
    }
    grpc::Status ReloadTopology(grpc::ServerContext*, const v1::ReloadTopologyRequest* request,
                                v1::ReloadTopologyResponse* response) override {
      fake.reloads.push_back(*request);
      *response = fake.reload;
      return fake.change;
    }
    grpc::Status AcceptTopology(grpc::ServerContext*, const v1::AcceptTopologyRequest* request,
                                v1::AcceptTopologyResponse* response) override {
      fake.accepts.push_back(*request);
      *response->mutable_changes() = fake.reload.changes();
      *response->mutable_status() = fake.reload.status();
      return fake.change;
    }
    FakeAdmin& fake;
  };

  struct Migrations : v1::MigrationService::Service {
    explicit Migrations(FakeAdmin& admin) : fake(admin) {}
    grpc::Status GetMigration(grpc::ServerContext*, const v1::GetMigrationRequest* request,
                              v1::GetMigrationResponse* response) override {
      const auto found = fake.migrations.find(request->data_center());
      if (found == fake.migrations.end()) return {grpc::StatusCode::NOT_FOUND, "unknown"};
      *response->mutable_migration() = found->second;
      return grpc::Status::OK;
    }
    grpc::Status ListMigrations(grpc::ServerContext*, const v1::ListMigrationsRequest*,
                                v1::ListMigrationsResponse* response) override {
      for (const auto& [name, migration] : fake.migrations) {
        *response->add_migrations() = migration;
      }
      fake.after_list();
      return grpc::Status::OK;
    }
    grpc::Status ForgetMigration(grpc::ServerContext*, const v1::ForgetMigrationRequest* request,
                                 v1::ForgetMigrationResponse* response) override {
      fake.forgets.push_back(*request);
      *response->mutable_migration() = fake.migrations[request->data_center()];
      return fake.change;
    }
    grpc::Status RenameMigration(grpc::ServerContext*, const v1::RenameMigrationRequest* request,
                                 v1::RenameMigrationResponse* response) override {
      fake.renames.push_back(*request);
      *response->mutable_migration() = fake.migrations[request->data_center()];
      response->mutable_migration()->set_data_center(request->new_data_center());
      return fake.change;
    }
    grpc::Status ListMigrationChanges(grpc::ServerContext*, const v1::ListMigrationChangesRequest*,
                                      v1::ListMigrationChangesResponse* response) override {
      for (const v1::MigrationChange& row : fake.history) *response->add_changes() = row;
      return grpc::Status::OK;
    }
    grpc::Status ForecastMigration(grpc::ServerContext*,
                                   const v1::ForecastMigrationRequest* request,
                                   v1::ForecastMigrationResponse* response) override {
      fake.forecasts.push_back(*request);
      *response = fake.forecast;
      return fake.forecast_status;
    }
    grpc::Status SetMigration(grpc::ServerContext*, const v1::SetMigrationRequest* request,
                              v1::SetMigrationResponse* response) override {
      fake.sets.push_back(*request);
      fake.before_set();
      if (!fake.change.ok()) return fake.change;
      for (v1::Migration* migration : fake.Selected(request->selector())) {
        v1::ChangedMigration& changed = *response->add_changes();
        changed.set_previous_v2_ppm(migration->v2_ppm());
        migration->set_v2_ppm(request->v2_ppm());
        if (migration->effective_reason().empty()) {
          migration->set_effective_v2_ppm(request->v2_ppm());
        }
        *changed.mutable_migration() = *migration;
      }
      return grpc::Status::OK;
    }
    grpc::Status RollbackMigration(grpc::ServerContext*,
                                   const v1::RollbackMigrationRequest* request,
                                   v1::RollbackMigrationResponse* response) override {
      fake.rollbacks.push_back(*request);
      *response = fake.rollback;
      for (v1::Migration* migration : fake.Selected(request->selector())) {
        const std::string& name = migration->data_center();
        if (std::find(fake.has_no_v1.begin(), fake.has_no_v1.end(), name) != fake.has_no_v1.end()) {
          response->add_without_v1(name);
          continue;
        }
        v1::ChangedMigration& changed = *response->add_changes();
        changed.set_previous_v2_ppm(migration->v2_ppm());
        migration->set_v2_ppm(0);
        migration->set_is_frozen(true);
        if (migration->effective_reason().empty()) migration->set_effective_v2_ppm(0);
        *changed.mutable_migration() = *migration;
      }
      return fake.change;
    }
    grpc::Status UnfreezeMigration(grpc::ServerContext*,
                                   const v1::UnfreezeMigrationRequest* request,
                                   v1::UnfreezeMigrationResponse* response) override {
      fake.unfreezes.push_back(*request);
      return Answer(*request, *response, [](v1::Migration& m) { m.set_is_frozen(false); });
    }
    grpc::Status OverrideShare(grpc::ServerContext*, const v1::OverrideShareRequest* request,
                               v1::OverrideShareResponse* response) override {
      fake.overrides.push_back(*request);
      return Answer(*request, *response, [request](v1::Migration& m) {
        m.mutable_share_override()->set_v2_ppm(request->v2_ppm());
        m.set_effective_v2_ppm(request->v2_ppm());
        m.set_effective_reason("overridden: " + request->reason());
      });
    }
    grpc::Status ClearOverride(grpc::ServerContext*, const v1::ClearOverrideRequest* request,
                               v1::ClearOverrideResponse* response) override {
      fake.clears.push_back(*request);
      return Answer(*request, *response, [](v1::Migration& m) { m.clear_share_override(); });
    }
    grpc::Status RetireRing(grpc::ServerContext*, const v1::RetireRingRequest* request,
                            v1::RetireRingResponse* response) override {
      fake.retires.push_back(*request);
      response->set_ring_memory_bytes(fake.retired_bytes);
      return Answer(*request, *response,
                    [request](v1::Migration& m) { m.set_retired_ring(request->ring_version()); });
    }
    grpc::Status RestoreRing(grpc::ServerContext*, const v1::RestoreRingRequest* request,
                             v1::RestoreRingResponse* response) override {
      fake.restores.push_back(*request);
      return Answer(*request, *response, [](v1::Migration& m) { m.clear_retired_ring(); });
    }
    grpc::Status GetDefaultShare(grpc::ServerContext*, const v1::GetDefaultShareRequest*,
                                 v1::GetDefaultShareResponse* response) override {
      *response->mutable_default_share() = fake.default_share;
      return grpc::Status::OK;
    }
    grpc::Status SetDefaultShare(grpc::ServerContext*, const v1::SetDefaultShareRequest* request,
                                 v1::SetDefaultShareResponse* response) override {
      fake.default_shares.push_back(*request);
      response->set_previous_v2_ppm(fake.default_share.v2_ppm());
      fake.default_share.set_v2_ppm(request->v2_ppm());
      fake.default_share.set_revision(fake.default_share.revision() + 1);
      *response->mutable_default_share() = fake.default_share;
      return fake.change;
    }
    grpc::Status WatchMigrations(grpc::ServerContext*, const v1::WatchMigrationsRequest* request,
                                 grpc::ServerWriter<v1::WatchMigrationsResponse>* writer) override {
      const std::size_t call = fake.watches.size();
      fake.watches.push_back(*request);
      if (call >= fake.watch.size()) return {grpc::StatusCode::PERMISSION_DENIED, "not for you"};
      for (const v1::WatchMigrationsResponse& response : fake.watch[call]) writer->Write(response);
      if (call + 1 < fake.watch.size()) return {grpc::StatusCode::UNAVAILABLE, "stopping"};
      fake.end_.WaitForNotification();
      return grpc::Status::OK;
    }

    // Changes what the request selects, and answers with it.
    template <typename Request, typename Response, typename Change>
    grpc::Status Answer(const Request& request, Response& response, const Change& apply) {
      for (v1::Migration* migration : fake.Selected(request.selector())) {
        apply(*migration);
        *response.add_migrations() = *migration;
      }
      return fake.change;
    }
    FakeAdmin& fake;
  };

  std::vector<v1::Migration*> Selected(const v1::Selector& selector) {
    std::vector<v1::Migration*> selected;
    for (auto& [name, migration] : migrations) {
      const bool is_named =
          std::find(selector.data_centers().begin(), selector.data_centers().end(), name) !=
          selector.data_centers().end();
      const bool is_served = migration.has_effective_v2_ppm();
      const bool is_of_tier = !selector.tier().empty() && migration.tier() == selector.tier();
      if (is_named || (is_served && (selector.all() || is_of_tier))) selected.push_back(&migration);
    }
    return selected;
  }

  absl::Notification end_;
  Status status_;
  Topology topology_;
  Migrations migrations_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;  // last: it ends before what its calls use
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_FAKE_ADMIN_H_
