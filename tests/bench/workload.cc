#include "tests/bench/workload.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "migration/share.h"
#include "migration/store.h"
#include "ring/ring.h"
#include "routing/data_center.h"
#include "routing/route.h"

namespace ringshift::bench {

RingLayout OtherLayout(RingLayout layout) {
  return layout == RingLayout::kWide ? RingLayout::kPacked : RingLayout::kWide;
}

absl::StatusOr<BenchCase> FindCase(std::string_view name) {
  for (const BenchCase& bench_case : kCases) {
    if (bench_case.name == name) return bench_case;
  }
  return absl::NotFoundError("no case " + std::string(name));
}

DataCenterSpec MakeSpec(const BenchCase& bench_case) {
  DataCenterSpec spec;
  spec.name = std::string(kDataCenter);
  for (std::size_t i = 0; i < bench_case.nodes; ++i) {
    NodeSpec node;
    node.name = absl::StrCat("cache-", i);
    node.address = absl::StrCat("10.0.", i / 256, ".", i % 256, ":443");
    node.weight = bench_case.weight;
    spec.nodes.push_back(std::move(node));
  }
  if (bench_case.has_v1) spec.v1 = DefaultRingParameters(RingVersion::kV1);
  spec.v2 = DefaultRingParameters(RingVersion::kV2);
  spec.v2.layout = RingLayout::kPacked;
  return spec;
}

RouterState BothRingsWarm() {
  RouterState state;
  state.warmth = {
      .v2_warm_below = Share::All(), .v1_warm_from = Share::None(), .first_share = Share::None()};
  return state;
}

absl::StatusOr<std::shared_ptr<const RoutingTable>> BuildTable(const DataCenterSpec& spec,
                                                               std::int64_t v2_ppm,
                                                               RouterState state) {
  absl::StatusOr<std::shared_ptr<const DataCenter>> data_center = DataCenter::Build(spec);
  if (!data_center.ok()) return data_center.status();
  Migration migration;
  migration.data_center = spec.name;
  migration.share = Share::FromPpm(v2_ppm).value();
  migration.salt = spec.name;
  migration.decision_algorithm = std::string(kDecisionAlgorithm);
  migration.revision = 1;
  return RoutingTable::Create(*std::move(data_center), std::move(migration), std::move(state));
}

std::string MakeKey(std::size_t index) {
  const std::uint64_t spread = (index + 1) * 0x9E3779B97F4A7C15u;
  char key[48];
  std::snprintf(key, sizeof key, "/img/%08x/%zu.jpg", static_cast<unsigned>(spread >> 32), index);
  return key;
}

absl::StatusOr<Workload> MakeWorkload(const BenchCase& bench_case, std::size_t key_count,
                                      RouterState state) {
  DataCenterSpec spec = MakeSpec(bench_case);
  if (spec.v1) spec.v1->layout = OtherLayout(spec.v1->layout);
  spec.v2.layout = OtherLayout(spec.v2.layout);
  const absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      BuildTable(spec, bench_case.v2_ppm, std::move(state));
  if (!table.ok()) return table.status();

  Workload workload;
  for (std::size_t i = 0; i < key_count; ++i) {
    workload.keys.push_back(MakeKey(i));
    const absl::StatusOr<RouteAnswer> answer =
        Route(**table, {.key = workload.keys.back(), .pool = ""});
    if (!answer.ok()) return answer.status();
    const DataCenter& data_center = (*table)->data_center();
    workload.owners.push_back(data_center.node(answer->nodes()[0]).name);
    workload.previous_owners.push_back(
        answer->previous_owner ? data_center.node(*answer->previous_owner).name : "");
    workload.ring_versions.push_back(
        answer->ring_version == RingVersion::kV2 ? v1::RING_VERSION_V2 : v1::RING_VERSION_V1);
  }
  return workload;
}

}  // namespace ringshift::bench
