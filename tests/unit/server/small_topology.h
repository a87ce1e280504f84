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

// 2,000 nodes of weight 1, and so many pools of one of them each: too sparse to be walked.
inline DataCenterSpec DataCenterOfSparsePools(const std::string& name, int pools) {
  DataCenterSpec spec = SmallDataCenter(name);
  spec.nodes.clear();
  spec.pools.clear();
  for (int i = 0; i < 2000; ++i) {
    NodeSpec node;
    node.name = "n" + std::to_string(i);
    node.address = "10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ":443";
    node.weight = 1;
    if (i < pools) {
      node.features = {"f" + std::to_string(i)};
      spec.pools.push_back({"p" + std::to_string(i), node.features});
    }
    spec.nodes.push_back(node);
  }
  return spec;
}

// REQUIRES: `spec` is good.
inline std::shared_ptr<const DataCenter> Built(const DataCenterSpec& spec) {
  return DataCenter::Build(spec).value();
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_SMALL_TOPOLOGY_H_
