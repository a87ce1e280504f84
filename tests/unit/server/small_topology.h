// A small topology for the tests of the server, built.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_SMALL_TOPOLOGY_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_SMALL_TOPOLOGY_H_

#include <memory>
#include <string>

#include "routing/data_center.h"
#include "routing/topology.h"

namespace ringshift::testing {

// Three nodes of weight 10; node "n0" alone has the feature of the pool `special`.
inline DataCenterSpec SmallDataCenter(const std::string& name, bool has_v1 = true) {
  DataCenterSpec spec;
  spec.name = name;
  spec.tier = "canary";
  for (int i = 0; i < 3; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = "10.0.0." + std::to_string(i) + ":443";
    node.weight = 10;
    if (i == 0) node.features = {"special"};
    spec.nodes.push_back(node);
  }
  spec.pools = {{"special", {"special"}}};
  if (has_v1) spec.v1 = DefaultRingParameters(RingVersion::kV1);
  spec.v2 = DefaultRingParameters(RingVersion::kV2);
  return spec;
}

// REQUIRES: `spec` is good.
inline std::shared_ptr<const DataCenter> Built(const DataCenterSpec& spec) {
  return DataCenter::Build(spec).value();
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_SMALL_TOPOLOGY_H_
