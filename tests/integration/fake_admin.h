// The admin port of a router that answers what a test has put into it, for what a real one cannot
// be brought to do at will.
//
// Thread safety: set it up before the first call, and look at it after the last one.
#ifndef RINGSHIFT_TESTS_INTEGRATION_FAKE_ADMIN_H_
#define RINGSHIFT_TESTS_INTEGRATION_FAKE_ADMIN_H_

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

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

  const std::string& address() const { return address_; }

  // The answers.
  v1::GetStatusResponse status;
  grpc::Status lists = grpc::Status::OK;            // of ListDataCenters
  grpc::Status change = grpc::Status::OK;           // of every call that changes something
  v1::ReloadTopologyResponse reload;                // of both that take up a topology
  std::map<std::string, v1::Migration> migrations;  // by data center

  // The calls that came.
  std::vector<v1::ReloadTopologyRequest> reloads;
  std::vector<v1::AcceptTopologyRequest> accepts;
  std::vector<v1::ForgetMigrationRequest> forgets;
  std::vector<v1::RenameMigrationRequest> renames;

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
                                 v1::ListDataCentersResponse*) override {
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
    FakeAdmin& fake;
  };

  Status status_;
  Topology topology_;
  Migrations migrations_;
  std::string address_;
  std::unique_ptr<grpc::Server> server_;  // last: it ends before what its calls use
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_FAKE_ADMIN_H_
