// A MigrationStore in etcd, for routers that share one state.
//
//   EtcdStore::Options options;
//   options.etcd.endpoints = {"etcd-1:2379", "etcd-2:2379", "etcd-3:2379"};
//   options.cache_path = "/var/lib/ringshift/etcd-cache.db";
//   absl::StatusOr<std::unique_ptr<EtcdStore>> store = EtcdStore::Open(options);
//
// A change of any number of data centers is one write to etcd, made only if the store still is what
// the change was judged by; else it is judged again. It is durable, and every other router has it
// within milliseconds. docs/architecture.md says which keys there are.
//
// Reads come from the cache, a file of this router, and wait for no network. While etcd is lost,
// also after a restart, they go on, Stale() says so, and writes are UNAVAILABLE. The store catches
// up by itself. Whatever etcd says or does not say, nothing that the cache knows turns into
// nothing: an etcd that is empty, another cluster, or another store is an error with its reason.
//
// A backup that is restored takes etcd back, without an event for those who watch it. That is
// noticed within `check_period`, and then the store is what the backup has; `revision_regressions`
// counts it.
//
// Thread safety: thread-safe. A write waits for etcd, up to `call_timeout` for each endpoint that
// does not answer, and for the writes before it.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_STORE_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_STORE_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/etcd/etcd_cache.h"
#include "migration/etcd/etcd_client.h"
#include "migration/etcd/etcd_log.h"
#include "migration/etcd/etcd_state.h"
#include "migration/internal/store_change.h"
#include "migration/mutex.h"
#include "migration/store.h"

namespace ringshift {

class EtcdStore final : public MigrationStore {
 public:
  enum class IfMissing {
    kCreate,  // make the store
    kFail,    // NOT_FOUND
  };

  struct Options {
    EtcdClientOptions etcd;
    std::string prefix = "/ringshift/";  // of all keys; ends with '/'
    std::string cache_path;              // made if it is not there
    IfMissing if_missing = IfMissing::kCreate;
    WallClock clock = SystemWallTime;
    // How often it is looked whether etcd is as the watch says. More than 0.
    std::chrono::milliseconds check_period = std::chrono::seconds(30);
    // A checkpoint is written after so many changes, or bytes of them; the log is never shorter
    // than the last one before that. At least 1.
    std::int64_t max_log_records = 1'000;
    std::int64_t max_log_bytes = std::int64_t{4} << 20;
    std::size_t max_history_rows = 100'000;  // about so many are kept, the newest
  };

  // NOT_FOUND            etcd has no store, nor has the cache, and none may be made.
  // UNAVAILABLE          etcd does not answer, and the cache is empty.
  // FAILED_PRECONDITION  what etcd has is not what the cache is a copy of: another cluster,
  //                      another store, or none; or its format is a newer one.
  // Otherwise the errors of EtcdClient and of EtcdCache::Open. An etcd that does not answer, or
  // that refuses this client, is no error where the cache has something: then the store is stale.
  static absl::StatusOr<std::unique_ptr<EtcdStore>> Open(Options options);
  ~EtcdStore() override;

  // True if Open made the store.
  bool created() const { return created_; }

  struct Statistics {
    std::int64_t revision_regressions = 0;  // times that etcd, or the store in it, went back
    std::int64_t full_reads = 0;            // of a checkpoint, not only of changes
    std::int64_t lost_watches = 0;
    std::int64_t checkpoints = 0;  // written by this object
  };
  Statistics statistics() const;

  absl::StatusOr<std::vector<Migration>> Load() override;
  absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) override;
  absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate& update) override;
  absl::StatusOr<DefaultShare> LoadDefaultShare() override;
  absl::StatusOr<DefaultShare> SetDefaultShare(const DefaultShareUpdate& update) override;
  absl::StatusOr<Migration> Forget(const ForgetRequest& request) override;
  absl::StatusOr<Migration> Rename(const RenameRequest& request) override;
  absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) override;
  absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() override;
  absl::Status SaveTopology(const TopologyUpdate& update) override;
  // OK while it is not stale.
  absl::Status Check() override;
  absl::StatusOr<StoreContents> Export() override;
  absl::Status Import(const StoreContents& contents) override;
  std::optional<std::string> Stale() override;
  void SetListener(std::function<void()> listener) override;

 private:
  using StoreChange = internal::StoreChange;

  // The head that this object knows etcd to have.
  struct KnownHead {
    std::string bytes;
    EtcdHead head;
  };
  // Makes a change of what the cache has; none if nothing is to be done.
  using Plan =
      std::function<absl::StatusOr<std::optional<StoreChange>>(internal::SqliteDatabase& database)>;
  // Changes that this object has sent and that may be made, by chain.
  using Sent = std::map<std::string, StoreChange>;

  EtcdStore(Options options, std::unique_ptr<EtcdClient> client, std::unique_ptr<EtcdCache> cache);

  // As an EtcdAddress is written, for messages.
  std::string Name() const;

  // Takes up what etcd has. OK: the cache is as etcd is. The result is the one of `sent` that has
  // been made, if one has.
  absl::StatusOr<std::optional<StoreChange>> Synchronise(const Sent& sent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::StatusOr<std::optional<StoreChange>> TrySynchronise(const Sent& sent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // OK if what etcd has is of the store that the cache is a copy of.
  absl::Status CheckOrigin(const EtcdLog::Snapshot& snapshot,
                           const std::optional<EtcdHead>& head) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status CreateStore() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);

  // Makes the change that `plan` makes of the newest contents. None if there was nothing to do.
  absl::StatusOr<std::optional<StoreChange>> Change(const Plan& plan);
  // Sends the change once. The result is the one of `sent` that has been made, if one has.
  absl::StatusOr<std::optional<StoreChange>> Send(StoreChange change, Sent& sent)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  // Why a write cannot be made.
  absl::Status WriteError(const absl::Status& status) const;

  bool IsCheckpointDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_mutex_);
  absl::Status WriteCheckpoint();

  void SetStale(std::optional<std::string> reason);
  void Notify();

  // The thread that follows etcd.
  void Follow();
  // Until the watch is lost, etcd cannot be read, or went back.
  void FollowWatch(std::int64_t etcd_revision);
  // False if the object ends.
  bool WaitFor(std::chrono::milliseconds time);
  bool IsEnding();

  const Options options_;
  const std::unique_ptr<EtcdClient> client_;
  EtcdLog log_;
  bool created_ = false;  // set by Open

  // Held by whoever writes to etcd, or takes up what it has. Before mutex_.
  Mutex write_mutex_;
  std::optional<KnownHead> head_ ABSL_GUARDED_BY(write_mutex_);  // that the cache has
  std::string own_chain_ ABSL_GUARDED_BY(write_mutex_);  // of the last change that this one made
  std::int64_t seen_etcd_revision_ ABSL_GUARDED_BY(write_mutex_) = 0;

  mutable Mutex mutex_;
  // Replaced contents and origin are written with write_mutex_ held, too.
  const std::unique_ptr<EtcdCache> cache_ ABSL_PT_GUARDED_BY(mutex_);
  std::optional<std::string> stale_ ABSL_GUARDED_BY(mutex_);
  Statistics statistics_ ABSL_GUARDED_BY(mutex_);

  Mutex listener_mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listener_mutex_);

  Mutex end_mutex_;
  CondVar end_condition_;
  bool is_ending_ ABSL_GUARDED_BY(end_mutex_) = false;
  std::thread thread_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_STORE_H_
