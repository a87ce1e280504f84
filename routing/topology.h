// The topology: data centers, their nodes, pools and ring parameters, as an operator writes them
// down.
//
// Thread safety: plain values.
#ifndef RINGSHIFT_ROUTING_TOPOLOGY_H_
#define RINGSHIFT_ROUTING_TOPOLOGY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/node_mask.h"
#include "ring/node_set.h"
#include "ring/ring.h"
#include "ring/ring_identity.h"

namespace ringshift {

// The reserved name of the pool of all nodes.
inline constexpr std::string_view kDefaultPool = "default";

// The reserved name under which all data centers that a router does not have are counted.
inline constexpr std::string_view kOtherDataCenter = "other";

struct NodeSpec {
  std::string name;
  std::string address;  // host:port, as answers give it
  std::uint32_t weight = 1;
  std::vector<std::string> features;
  std::string zone;
  std::optional<std::string> ring_identity;  // takes the place of the address on the rings

  friend bool operator==(const NodeSpec&, const NodeSpec&) = default;
};

struct PoolSpec {
  std::string name;
  std::vector<std::string> required_features;  // a node is in the pool if it has all of them

  friend bool operator==(const PoolSpec&, const PoolSpec&) = default;
};

struct DataCenterSpec {
  std::string name;
  std::string tier;
  IdentityStyle identity_style = IdentityStyle::kCanonical;
  std::vector<NodeSpec> nodes;
  std::vector<PoolSpec> pools;       // without `default`
  std::optional<RingParameters> v1;  // none for a data center that starts on v2
  RingParameters v2;

  friend bool operator==(const DataCenterSpec&, const DataCenterSpec&) = default;
};

struct Topology {
  std::vector<DataCenterSpec> data_centers;

  // Null if there is none of that name.
  const DataCenterSpec* Find(std::string_view name) const;
};

// The nodes of a data center as its rings see them. Errors: those of RingIdentity::Parse and
// NodeSet::Create, with the node's name.
absl::StatusOr<std::shared_ptr<const NodeSet>> MakeNodeSet(const DataCenterSpec& data_center);

// The nodes of `pool` ("" is `default`). NOT_FOUND for an unknown pool, with the known names.
// `nodes` is MakeNodeSet(data_center).
absl::StatusOr<NodeMask> MakePoolMask(const DataCenterSpec& data_center, const NodeSet& nodes,
                                      std::string_view pool);

// `unknown KIND "NAME"; known: a, b, c` for a NOT_FOUND: at most ten names, then how many more.
std::string UnknownNameMessage(std::string_view kind, std::string_view name,
                               const std::vector<std::string>& known);

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_TOPOLOGY_H_
