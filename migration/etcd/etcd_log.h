// The keys of a store in etcd: a head, a log of records, each of which names the one before it, and
// a checkpoint, so that the log does not grow for ever.
//
//   PREFIX/head                                     which of the others count: EtcdHead
//   PREFIX/log/REVISION/CHAIN/PART                  one change: EtcdRecord, cut into parts
//   PREFIX/checkpoint/REVISION-RANDOM/PART          all contents at a revision, cut into parts
//
// Numbers in keys are hexadecimal, so that keys are in the order of what they stand for. Only
// replacing the head changes the store, and only if it still is what the writer knows. What a
// writer that lost leaves behind is named by no head, and goes with the next checkpoint.
//
// Errors: those of EtcdClient, and DATA_LOSS and FAILED_PRECONDITION of etcd_state.h.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_LOG_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_LOG_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/etcd/etcd_client.h"
#include "migration/etcd/etcd_state.h"
#include "migration/internal/store_change.h"
#include "migration/store.h"

namespace ringshift {

class EtcdLog {
 public:
  // `client` outlives this object; `prefix` ends with '/'.
  EtcdLog(EtcdClient& client, std::string prefix) : client_(client), prefix_(std::move(prefix)) {}

  std::string HeadKey() const { return prefix_ + "head"; }

  // What etcd had at one moment.
  struct Snapshot {
    std::uint64_t cluster_id = 0;
    std::int64_t etcd_revision = 0;
    std::optional<std::string> head;           // its bytes; none: there is no store
    std::map<std::string, std::string> parts;  // of records, by key
  };
  // With the records from `first_revision` on.
  absl::StatusOr<Snapshot> Read(std::int64_t first_revision);

  // The records from `first_revision` on, as etcd had them at `etcd_revision`.
  absl::StatusOr<std::map<std::string, std::string>> ReadRecords(std::int64_t first_revision,
                                                                 std::int64_t etcd_revision);

  struct Link {
    std::string chain;
    internal::StoreChange change;
  };
  struct Chain {
    std::string previous;     // what the first link goes on from
    std::vector<Link> links;  // from `first_revision` to the head's; the oldest first
  };
  // Of a snapshot that has the records. DATA_LOSS where one is missing.
  absl::StatusOr<Chain> Records(const Snapshot& snapshot, const EtcdHead& head,
                                std::int64_t first_revision) const;

  // The contents of the checkpoint, as etcd had it at `etcd_revision`.
  absl::StatusOr<StoreContents> ReadCheckpoint(const EtcdCheckpoint& checkpoint,
                                               std::int64_t etcd_revision);

  // Of a write that depends on the head.
  struct Written {
    bool made = false;  // false: the head is another one
    std::uint64_t cluster_id = 0;
    std::int64_t etcd_revision = 0;
  };
  // Makes `next` the head in place of `expected`, whose bytes are given, none for no head at all,
  // with a record if there is one. After an error it may have been made or not.
  struct Record {
    std::int64_t revision = 0;
    std::string chain;
    std::string bytes;
  };
  absl::StatusOr<Written> ReplaceHead(const std::optional<std::string>& expected,
                                      const EtcdHead& next, const std::optional<Record>& record);

  // Writes the parts of a checkpoint, to be named by a head. Its chain is left to the caller.
  absl::StatusOr<EtcdCheckpoint> WriteCheckpoint(const StoreContents& contents);

  // Deletes what `head` needs no more, and has etcd forget all that is deleted or replaced, so that
  // its space is used again.
  absl::Status DropOld(const EtcdHead& head);

 private:
  std::string LogKey(std::int64_t revision) const;
  etcdserverpb::RangeRequest LogRange(std::int64_t first_revision) const;
  // Takes the parts of a page of `range`, and reads the others, as of `etcd_revision`.
  absl::Status ReadPages(etcdserverpb::RangeResponse page, etcdserverpb::RangeRequest range,
                         std::int64_t etcd_revision, std::map<std::string, std::string>& parts);

  EtcdClient& client_;
  const std::string prefix_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_LOG_H_
