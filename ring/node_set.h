// The nodes of one data center as its rings see them: identities and weights in one canonical
// order.
//
// The order is the identities', never the caller's, so a node's index means the same on every
// router and in every ring of the data center.
//
// Thread safety: immutable once created; share it freely. Cost: a few dozen bytes a node.
#ifndef RINGSHIFT_RING_NODE_SET_H_
#define RINGSHIFT_RING_NODE_SET_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/ring_identity.h"

namespace ringshift {

// A node's place in its NodeSet, 0 to 65,535.
using NodeIndex = std::uint32_t;

struct RingNode {
  std::string name;  // for messages; unique within a set
  RingIdentity identity;
  std::uint32_t weight = 1;  // capacity in units of the operator's choice, 1 to NodeSet::kMaxWeight
};

class NodeSet {
 public:
  static constexpr std::size_t kMaxNodes = 65536;
  static constexpr std::uint32_t kMaxWeight = 100'000;

  // Takes the nodes in any order.
  //
  // INVALID_ARGUMENT  no node; more than kMaxNodes; a weight out of range; two nodes of one name or
  //                   of one identity. The message names the nodes, the value and the limit.
  static absl::StatusOr<std::shared_ptr<const NodeSet>> Create(std::vector<RingNode> nodes);

  std::size_t size() const { return nodes_.size(); }
  const RingNode& operator[](NodeIndex index) const { return nodes_[index]; }
  const std::vector<RingNode>& nodes() const { return nodes_; }
  std::uint64_t total_weight() const { return total_weight_; }

  // The index of the node called `name`. Cost: linear.
  std::optional<NodeIndex> Find(std::string_view name) const;

 private:
  explicit NodeSet(std::vector<RingNode> nodes);

  std::vector<RingNode> nodes_;  // sorted by identity
  std::uint64_t total_weight_ = 0;
};

// True where the chain of the identity's points never leaves its first one: the first hash is 0, so
// every later one is too, and the node has a single point whatever its weight. (For every other
// identity the chain runs through 2^32 - 1 different hashes before it repeats: one step is
// multiplication by x^32 modulo a primitive polynomial, plus a constant.) Give such a node another
// `ring_identity`.
bool HasStuckChain(const RingIdentity& identity);

}  // namespace ringshift

#endif  // RINGSHIFT_RING_NODE_SET_H_
