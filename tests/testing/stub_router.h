// A router in this process that does what a test has told it to, for what a real one cannot be
// brought to do at will. Every key is owned by a node with the router's name.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_TESTS_TESTING_STUB_ROUTER_H_
#define RINGSHIFT_TESTS_TESTING_STUB_ROUTER_H_

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "ringshift/v1/routing.grpc.pb.h"

namespace ringshift::testing {

class StubRouter {
 public:
  // Serves at once. `configure` may add to how the server is built.
  explicit StubRouter(
      std::string name, const std::string& address = "127.0.0.1:0",
      const std::function<void(grpc::ServerBuilder&)>& configure = [](grpc::ServerBuilder&) {})
      : service_(*this, std::move(name)) {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    configure(builder);
    server_ = builder.BuildAndStart();
    address_ = address.substr(0, address.rfind(':') + 1) + std::to_string(port);
    SetServing(true);
  }
  // Like kill -9: what is under way gets no answer.
  ~StubRouter() {
    Release();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  const std::string& address() const { return address_; }

  void SetServing(bool serving) {
    server_->GetHealthCheckService()->SetServingStatus(v1::RoutingService::service_full_name(),
                                                       serving);
  }

  // What calls end with from now on.
  void SetStatus(const grpc::Status& status) {
    absl::MutexLock lock(&mutex_);
    status_ = status;
  }

  // Puts into the answer of every batch what `edit` does.
  void EditBatches(std::function<void(v1::RouteBatchResponse&)> edit) {
    absl::MutexLock lock(&mutex_);
    edit_batch_ = std::move(edit);
  }

  // Calls wait from now on, until Release.
  void Hold() {
    absl::MutexLock lock(&mutex_);
    held_ = true;
  }
  void Release() {
    absl::MutexLock lock(&mutex_);
    held_ = false;
  }

  // Waits until `count` calls have come since the start or the last Forget.
  void WaitForCalls(int count) {
    absl::MutexLock lock(&mutex_);
    const auto have_come = [this, count]()
                               ABSL_NO_THREAD_SAFETY_ANALYSIS { return calls_ >= count; };
    mutex_.Await(absl::Condition(&have_come));
  }
  int calls() const {
    absl::MutexLock lock(&mutex_);
    return calls_;
  }
  void Forget() {
    absl::MutexLock lock(&mutex_);
    calls_ = 0;
  }
  // The connections that calls have come over.
  std::set<std::string> peers() const {
    absl::MutexLock lock(&mutex_);
    return peers_;
  }

 private:
  class Service final : public v1::RoutingService::Service {
   public:
    Service(StubRouter& router, std::string name) : router_(router), name_(std::move(name)) {}

    grpc::Status Route(grpc::ServerContext* context, const v1::RouteRequest*,
                       v1::RouteResponse* response) override {
      response->mutable_owner()->set_name(name_);
      response->mutable_owner()->set_address(name_ + ".invalid:443");
      response->set_ring_version(v1::RING_VERSION_V1);
      return router_.Take(*context);
    }

    grpc::Status RouteBatch(grpc::ServerContext* context, const v1::RouteBatchRequest* request,
                            v1::RouteBatchResponse* response) override {
      v1::RoutedNode& node = *response->add_nodes();
      node.set_name(name_);
      node.set_address(name_ + ".invalid:443");
      for (int i = 0; i < request->keys_size(); ++i) {
        response->add_node_indexes(0);
        response->add_ring_versions(v1::RING_VERSION_V2);
      }
      std::function<void(v1::RouteBatchResponse&)> edit;
      {
        absl::MutexLock lock(&router_.mutex_);
        edit = router_.edit_batch_;
      }
      if (edit) edit(*response);
      return router_.Take(*context);
    }

   private:
    StubRouter& router_;
    const std::string name_;
  };

  grpc::Status Take(const grpc::ServerContext& context) {
    absl::MutexLock lock(&mutex_);
    ++calls_;
    peers_.insert(context.peer());
    mutex_.Await(absl::Condition(
        +[](bool* held) { return !*held; }, &held_));
    return status_;
  }

  mutable absl::Mutex mutex_;
  grpc::Status status_ ABSL_GUARDED_BY(mutex_);
  std::function<void(v1::RouteBatchResponse&)> edit_batch_ ABSL_GUARDED_BY(mutex_);
  bool held_ ABSL_GUARDED_BY(mutex_) = false;
  int calls_ ABSL_GUARDED_BY(mutex_) = 0;
  std::set<std::string> peers_ ABSL_GUARDED_BY(mutex_);
  std::string address_;
  Service service_;
  std::unique_ptr<grpc::Server> server_;  // last: it ends before what its calls use
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_TESTING_STUB_ROUTER_H_
