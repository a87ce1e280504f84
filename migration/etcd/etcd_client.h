// Calls of etcd's v3 API: with a deadline, at whichever endpoint answers, and with a token if etcd
// wants one. There is no C++ client of etcd in Debian.
//
// A call goes to the endpoint that answered last, and, where that does not answer, on to each of
// the others once. So a transaction may be made twice: give it a comparison that then fails.
//
// Errors have the endpoint, what etcd said, and what to do where that can be told.
// UNAVAILABLE          no endpoint answered in time, or etcd has no leader.
// RESOURCE_EXHAUSTED   etcd is out of space (its alarm NOSPACE).
// UNAUTHENTICATED      etcd wants a user and password, or refuses these.
// PERMISSION_DENIED    the user may not read or write these keys.
// OUT_OF_RANGE         the revision that was asked for was compacted.
// Others are as etcd has them.
//
// Thread safety: thread-safe. Cost: a call blocks its thread.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_CLIENT_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "etcd_rpc.grpc.pb.h"
#include "migration/mutex.h"

namespace ringshift {

struct EtcdClientOptions {
  std::vector<std::string> endpoints;  // host:port; at least one
  // Files in PEM, read once. Without a CA connections are not encrypted. Certificate and key, both
  // or neither, are what etcd knows this client by.
  std::string ca_file;
  std::string certificate_file;
  std::string key_file;
  std::string user;  // "": none
  std::string password;
  std::chrono::milliseconds call_timeout = std::chrono::seconds(2);  // at one endpoint
};

class EtcdClient {
 public:
  // Connects to nothing yet. INVALID_ARGUMENT: the options do not fit together. NOT_FOUND,
  // PERMISSION_DENIED, UNAVAILABLE: a file cannot be read.
  static absl::StatusOr<std::unique_ptr<EtcdClient>> Create(EtcdClientOptions options);

  absl::StatusOr<etcdserverpb::RangeResponse> Range(const etcdserverpb::RangeRequest& request);
  absl::StatusOr<etcdserverpb::TxnResponse> Txn(const etcdserverpb::TxnRequest& request);
  absl::Status Put(const etcdserverpb::PutRequest& request);
  absl::Status DeleteRange(const etcdserverpb::DeleteRangeRequest& request);
  // A revision that was compacted before is no error.
  absl::Status Compact(const etcdserverpb::CompactionRequest& request);
  absl::StatusOr<etcdserverpb::StatusResponse> Status();

  // "host:port, host:port", for messages.
  std::string EndpointNames() const;

  // For EtcdWatch, whose stream stays at one endpoint.

  // The endpoint that answered last.
  std::size_t CurrentEndpoint() const;
  // `endpoint` does not answer: another one is next, unless somebody said so already.
  void MoveOn(std::size_t endpoint);
  etcdserverpb::Watch::Stub& WatchStub(std::size_t endpoint) const;
  // Gives the context of a call to the endpoint what etcd wants to see. Asks for a token if there
  // is none. Errors: those of a call.
  absl::Status Prepare(std::size_t endpoint, grpc::ClientContext& context);
  // The error of a call at the endpoint. Forgets a token that is not good any more.
  absl::Status ErrorOf(std::size_t endpoint, const grpc::Status& status);
  std::chrono::milliseconds call_timeout() const { return options_.call_timeout; }

 private:
  struct Endpoint {
    std::string name;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<etcdserverpb::KV::Stub> kv;
    std::unique_ptr<etcdserverpb::Watch::Stub> watch;
    std::unique_ptr<etcdserverpb::Auth::Stub> auth;
    std::unique_ptr<etcdserverpb::Maintenance::Stub> maintenance;
  };

  EtcdClient(EtcdClientOptions options,
             const std::shared_ptr<grpc::ChannelCredentials>& credentials);

  // Makes one call at the endpoint.
  using Attempt = std::function<grpc::Status(Endpoint& endpoint, grpc::ClientContext& context)>;
  // At the current endpoint, and on to the others while none answers.
  absl::Status Call(const Attempt& attempt);
  // At one endpoint, once more if the token had to be renewed.
  absl::Status CallAt(std::size_t endpoint, const Attempt& attempt);

  const EtcdClientOptions options_;
  std::vector<Endpoint> endpoints_;  // constant after construction
  mutable Mutex mutex_;
  std::size_t current_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string token_ ABSL_GUARDED_BY(mutex_);  // "": none
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_CLIENT_H_
