// RouteBatch: the owners of many keys of one data center and pool, at the speed of memory.
//
//   absl::StatusOr<BatchRouter> batch = BatchRouter::Create(table, "default");
//   if (!batch.ok()) return batch.status();
//   batch->Route(keys, answers);   // what Route answers for each, replicas = 1
//
// Thread safety: pure; a BatchRouter is immutable, and the table outlives it. Cost: two hashes and
// a lookup a key, and those of FindPreviousOwner, without allocation; the lookups of neighbouring
// keys overlap, so that one does not wait for the other's memory.
#ifndef RINGSHIFT_ROUTING_ROUTE_BATCH_H_
#define RINGSHIFT_ROUTING_ROUTE_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ring/node_set.h"
#include "ring/ring.h"
#include "routing/routing_table.h"

namespace ringshift {

inline constexpr std::size_t kMaxBatchKeys = 10'000;

struct BatchAnswer {
  static constexpr std::uint32_t kNoNode = 0xffffffff;

  NodeIndex owner = 0;                     // in DataCenter::node()
  std::uint32_t previous_owner = kNoNode;  // likewise
  std::uint32_t position = 0;              // of the key on the rings
  std::uint32_t bucket = 0;                // of the decision
  RingVersion ring_version = RingVersion::kV1;
};

class BatchRouter {
 public:
  // NOT_FOUND    no such pool; the message has the known ones, bounded.
  // UNAVAILABLE  the pool has no node.
  static absl::StatusOr<BatchRouter> Create(const RoutingTable& table, std::string_view pool);

  // INVALID_ARGUMENT, with the index of the key, if one is empty or too long; `first_index` is that
  // of keys[0] in the batch. Nothing is answered then.
  static absl::Status CheckKeys(std::span<const std::string_view> keys, std::size_t first_index);

  // REQUIRES: CheckKeys(keys) is OK; answers.size() == keys.size()
  void Route(std::span<const std::string_view> keys, std::span<BatchAnswer> answers) const;

  // Index in DataCenter::pools().
  std::size_t pool() const { return pool_; }

 private:
  BatchRouter(const RoutingTable& table, std::size_t pool) : table_(&table), pool_(pool) {}

  const RoutingTable* table_;
  std::size_t pool_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROUTE_BATCH_H_
