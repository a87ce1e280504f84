// Data centers for the tests of routing/, and tables of them.
#ifndef RINGSHIFT_TESTS_UNIT_ROUTING_SPECS_H_
#define RINGSHIFT_TESTS_UNIT_ROUTING_SPECS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/share.h"
#include "migration/store.h"
#include "routing/data_center.h"
#include "routing/routing_table.h"
#include "routing/topology.h"

namespace ringshift::testing {

// Node `number` of a data center: n7 at 10.0.0.7:443.
inline NodeSpec MakeNode(std::size_t number, std::uint32_t weight) {
  NodeSpec node;
  node.name = absl::StrCat("n", number);
  node.address = absl::StrCat("10.0.", number / 256, ".", number % 256, ":443");
  node.weight = weight;
  return node;
}

// Data center `ams` with nodes 1 to `count`, default rings and no pools.
inline DataCenterSpec MakeSpec(std::size_t count, std::uint32_t weight = 100) {
  DataCenterSpec spec;
  spec.name = "ams";
  for (std::size_t i = 1; i <= count; ++i) spec.nodes.push_back(MakeNode(i, weight));
  spec.v1 = DefaultRingParameters(RingVersion::kV1);
  spec.v2 = DefaultRingParameters(RingVersion::kV2);
  return spec;
}

// 3,000 nodes with 30 points each and more in v2: two nodes are in the pool `sparse`, which is so
// few that it has rings of its own, and 300 in `tenth`, which has none.
inline DataCenterSpec MakeSpecWithSparsePool() {
  DataCenterSpec spec = MakeSpec(3000, 1);
  for (std::size_t i = 0; i < spec.nodes.size(); i += 10) spec.nodes[i].features = {"t"};
  for (const std::size_t i : {std::size_t{700}, std::size_t{1702}}) spec.nodes[i].features = {"s"};
  spec.pools = {{"tenth", {"t"}}, {"sparse", {"s"}}};
  spec.v1->points_per_weight = 30;
  spec.v2.points_per_weight = 40;
  return spec;
}

inline Migration MakeMigration(std::string data_center, std::int64_t ppm,
                               std::string salt = "salt") {
  Migration migration;
  migration.data_center = std::move(data_center);
  migration.share = *Share::FromPpm(ppm);
  migration.salt = std::move(salt);
  migration.decision_algorithm = std::string(kDecisionAlgorithm);
  migration.revision = 1;
  return migration;
}

inline absl::StatusOr<std::shared_ptr<const RoutingTable>> MakeTable(const DataCenterSpec& spec,
                                                                     std::int64_t ppm) {
  absl::StatusOr<std::shared_ptr<const DataCenter>> data_center = DataCenter::Build(spec);
  if (!data_center.ok()) return data_center.status();
  return RoutingTable::Create(*std::move(data_center), MakeMigration(spec.name, ppm));
}

inline std::string Key(std::size_t number) { return absl::StrCat("/img/", number, ".jpg"); }

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_ROUTING_SPECS_H_
