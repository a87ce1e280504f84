#ifndef RINGSHIFT_TESTS_UNIT_RING_RING_TEST_UTIL_H_
#define RINGSHIFT_TESTS_UNIT_RING_RING_TEST_UTIL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift::testing {

struct TestNode {
  std::string address;
  std::uint32_t weight = 1;
};

inline RingIdentity Identity(const std::string& address,
                             IdentityStyle style = IdentityStyle::kCanonical) {
  return RingIdentity::Parse(address, style).value();
}

// Nodes named by their addresses.
inline std::shared_ptr<const NodeSet> Nodes(const std::vector<TestNode>& test_nodes) {
  std::vector<RingNode> nodes;
  for (const TestNode& node : test_nodes) {
    nodes.push_back({node.address, Identity(node.address), node.weight});
  }
  return NodeSet::Create(std::move(nodes)).value();
}

// `prefix`1, `prefix`2, ... of one weight, on port 443.
inline std::vector<TestNode> SequentialNodes(const std::string& prefix, int count,
                                             std::uint32_t weight = 1) {
  std::vector<TestNode> nodes;
  for (int i = 1; i <= count; ++i) nodes.push_back({prefix + std::to_string(i) + ":443", weight});
  return nodes;
}

inline RingParameters Parameters(RingVersion version, std::uint32_t points_per_weight,
                                 RingLayout layout = RingLayout::kWide) {
  return {version, points_per_weight, layout};
}

inline std::shared_ptr<const Ring> BuildRing(const std::vector<TestNode>& nodes,
                                             const RingParameters& parameters,
                                             const RingBuildOptions& options = {}) {
  return Ring::Build(Nodes(nodes), parameters, options).value();
}

// The name of the owner of a key.
inline std::string OwnerName(const Ring& ring, std::string_view key) {
  return ring.nodes()[ring.Owner(key)].name;
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_RING_RING_TEST_UTIL_H_
