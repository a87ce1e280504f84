// A data center ready to route: its nodes, its pools and its rings, built. The costly part of a
// routing table, shared by all tables that differ only in migration state.
//
// Thread safety: immutable.
#ifndef RINGSHIFT_ROUTING_DATA_CENTER_H_
#define RINGSHIFT_ROUTING_DATA_CENTER_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/store.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/ownership.h"
#include "ring/pool_rings.h"
#include "ring/ring.h"
#include "routing/topology.h"

namespace ringshift {

// What DataCenter::Build takes, known before anything is allocated.
struct BuildMemory {
  // Of the rings that it builds, those of sparse pools among them: what these may take at the most.
  std::uint64_t ring_bytes = 0;
  // At the most at a time: those rings and the scratch memory of Ring::Build. At least ring_bytes,
  // and 0 where no ring is built. Nodes and their names, some hundred bytes a node, are not in it.
  std::uint64_t peak_bytes = 0;
};

class DataCenter {
 public:
  struct Node {
    std::string name;
    std::string address;
  };
  struct Pool {
    std::string name;
    NodeMask nodes;
  };
  struct BuiltRing {
    // Its nodes are those of node_set(), in the same order; a ring that is older than this data
    // center may know them by other names.
    std::shared_ptr<const Ring> ring;
    Ownership ownership;  // of the pool `default`
    std::chrono::duration<double> build_time;
    std::vector<PoolRing> pools;  // by index in DataCenter::pools()

    // The ring to ask for nodes of a pool.
    const Ring& RingOf(std::size_t pool) const {
      return pools[pool].own != nullptr ? *pools[pool].own : *ring;
    }
    // Of the ring and its pools' own ones.
    std::uint64_t memory_bytes() const;
  };

  // Builds the rings, save those of `previous` (may be null) that would be the same, which are
  // taken from it. Errors: those of MakeNodeSet, Ring::Measure and Ring::Build, with the data
  // center. Cost: that of Ring::Build for each ring that is built; not for a request.
  // The one that is `retired` is neither built nor taken, unless it is the only one.
  static absl::StatusOr<std::shared_ptr<const DataCenter>> Build(
      const DataCenterSpec& spec, const DataCenter* previous = nullptr,
      RetiredRing retired = RetiredRing::kNone);

  // What Build would take with the same arguments. Errors: those of Build that are known before it
  // builds a ring. Cost: linear in the nodes.
  static absl::StatusOr<BuildMemory> MeasureBuild(const DataCenterSpec& spec,
                                                  const DataCenter* previous = nullptr,
                                                  RetiredRing retired = RetiredRing::kNone);

  // What pools() has. `nodes` is MakeNodeSet(spec). Errors: those of MakePoolMask.
  static absl::StatusOr<std::vector<Pool>> MakePools(const DataCenterSpec& spec,
                                                     const NodeSet& nodes);

  const DataCenterSpec& spec() const { return spec_; }
  const std::string& name() const { return spec_.name; }
  const std::string& tier() const { return spec_.tier; }

  const NodeSet& node_set() const { return *node_set_; }
  // By index in node_set().
  const Node& node(NodeIndex index) const { return nodes_[index]; }

  // pools()[0] is `default`; the others follow in the order of the topology.
  const std::vector<Pool>& pools() const { return pools_; }
  // "" is `default` too. Cost: a few comparisons.
  std::optional<std::size_t> FindPool(std::string_view name) const;

  // Null where the ring is retired, or the data center has no v1. At least one is there.
  const BuiltRing* v1() const { return v1_ ? &*v1_ : nullptr; }
  const BuiltRing* v2() const { return v2_ ? &*v2_ : nullptr; }
  const BuiltRing* ring(RingVersion version) const {
    return version == RingVersion::kV1 ? v1() : v2();
  }

  // The same without a ring that is retired. Cost: copies the nodes, builds nothing.
  // REQUIRES: the other ring is there
  std::shared_ptr<const DataCenter> Without(RetiredRing retired) const;

  // Over the rings that are there, but a retired one, the node names and addresses and the pools:
  // two routers with equal checksums give equal answers from equal rings.
  std::uint64_t checksum(RetiredRing retired = RetiredRing::kNone) const {
    return checksums_[static_cast<std::size_t>(retired)];
  }

 private:
  DataCenter() = default;

  // Once all else is there.
  void SetChecksums();

  DataCenterSpec spec_;
  std::shared_ptr<const NodeSet> node_set_;
  std::vector<Node> nodes_;
  std::vector<Pool> pools_;
  std::optional<BuiltRing> v1_;
  std::optional<BuiltRing> v2_;
  std::array<std::uint64_t, 3> checksums_{};  // by RetiredRing
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_DATA_CENTER_H_
