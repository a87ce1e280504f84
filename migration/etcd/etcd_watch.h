// Waits for changes of one key in etcd, from a revision on.
//
//   EtcdWatch watch(client, key, revision + 1);
//   auto events = watch.Next(deadline, wait);    // none: nothing changed until the deadline
//
// After an error the watch is over: look what has changed since, and make another one, from there
// on. A stream that brings nothing is asked now and then whether it is alive, so a network that
// loses everything is an error, too.
//
// gRPC's events are looked for every few milliseconds, without waiting in gRPC: a thread that waits
// there takes the events of all of the process's sockets, those of routing, too.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_WATCH_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_WATCH_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "etcd_rpc.grpc.pb.h"
#include "migration/etcd/etcd_client.h"

namespace ringshift {

class EtcdWatch {
 public:
  // Waits for so long, and returns false if the watch shall end.
  using Wait = std::function<bool(std::chrono::milliseconds)>;

  // Events of `start_revision` and later. `client` outlives this object.
  EtcdWatch(EtcdClient& client, std::string key, std::int64_t start_revision);
  ~EtcdWatch();

  EtcdWatch(const EtcdWatch&) = delete;
  EtcdWatch& operator=(const EtcdWatch&) = delete;

  // The events that came since, in their order; none once `deadline` is past, or `wait` returned
  // false.
  //
  // OUT_OF_RANGE  events from start_revision on were compacted away: read the key again.
  // Otherwise as of EtcdClient, which goes on to another endpoint where this one is lost.
  absl::StatusOr<std::vector<etcdserverpb::Event>> Next(
      std::chrono::steady_clock::time_point deadline, const Wait& wait);

 private:
  struct Stream;

  absl::Status Start();
  // Takes one event of the queue if there is one.
  absl::StatusOr<bool> Poll();
  absl::Status Take();  // the response that was read
  absl::Status CheckAlive();
  // Why the stream ended.
  absl::Status EndOf();

  EtcdClient& client_;
  const std::string key_;
  const std::int64_t start_revision_;
  std::size_t endpoint_ = 0;
  std::unique_ptr<Stream> stream_;
  absl::Status ended_;
  bool created_ = false;  // etcd has said that it watches
  bool asked_ = false;    // whether it is alive, since it was heard last
  std::chrono::steady_clock::time_point heard_;
  std::vector<etcdserverpb::Event> events_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_WATCH_H_
