// The values that a store keeps in etcd, as bytes, and back.
//
// Reading is strict: DATA_LOSS, with what is wrong, for bytes that no router writes; nothing is
// read as 0 because it was not there. FAILED_PRECONDITION for a format of a newer router.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_MIGRATION_ETCD_ETCD_STATE_H_
#define RINGSHIFT_MIGRATION_ETCD_ETCD_STATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/internal/store_change.h"
#include "migration/store.h"

namespace ringshift {

// etcd refuses requests of more than 1.5 MiB, so that values are cut into parts of this size.
inline constexpr std::size_t kEtcdPartBytes = 512 * 1024;

struct EtcdCheckpoint {
  std::string id;
  int part_count = 0;  // 0: the empty contents at revision 0
  std::int64_t revision = 0;
  std::string chain;
  std::string hash;
  std::int64_t bytes = 0;

  friend bool operator==(const EtcdCheckpoint&, const EtcdCheckpoint&) = default;
};

// What counts of all that there is under the prefix. A store is changed by replacing its head,
// whose bytes no two histories have alike.
struct EtcdHead {
  std::string store_id;
  std::int64_t revision = 0;
  std::string chain;
  std::int64_t log_begin = 1;
  std::int64_t log_bytes = 0;
  EtcdCheckpoint checkpoint;

  friend bool operator==(const EtcdHead&, const EtcdHead&) = default;
};

std::string EncodeEtcdHead(const EtcdHead& head);
absl::StatusOr<EtcdHead> DecodeEtcdHead(std::string_view bytes);

struct EtcdRecord {
  std::string previous_chain;
  internal::StoreChange change;
};

// A record that goes on from the one of `previous_chain`.
std::string EncodeEtcdRecord(const internal::StoreChange& change, const std::string& previous_chain,
                             std::uint64_t nonce);
absl::StatusOr<EtcdRecord> DecodeEtcdRecord(std::string_view bytes);

// 16 bytes that stand for these: of a record, its chain.
std::string EtcdHash(std::string_view bytes);
std::string ToHex(std::string_view bytes);
std::string FromHex(std::string_view digits);

// 16 random bytes, for names that nobody else makes.
std::string RandomBytes();

std::string EncodeEtcdContents(const StoreContents& contents);
absl::StatusOr<StoreContents> DecodeEtcdContents(std::string_view bytes,
                                                 std::int64_t last_revision);

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ETCD_ETCD_STATE_H_
