#include "routing/data_center.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "routing/internal/checksum.h"

namespace ringshift {
namespace {

absl::Status WithDataCenter(const DataCenterSpec& spec, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("data center ", spec.name, ": ", status.message()));
}

absl::StatusOr<DataCenter::BuiltRing> BuildRing(std::shared_ptr<const NodeSet> nodes,
                                                const RingParameters& parameters) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::shared_ptr<const Ring>> ring = Ring::Build(std::move(nodes), parameters);
  const std::chrono::duration<double> build_time = std::chrono::steady_clock::now() - start;
  if (!ring.ok()) {
    const std::string_view version = RingVersionName(parameters.version);
    return absl::Status(ring.status().code(),
                        absl::StrCat("ring ", absl::string_view(version.data(), version.size()),
                                     ": ", ring.status().message()));
  }
  Ownership ownership = MeasureOwnership(**ring);
  return DataCenter::BuiltRing{*std::move(ring), std::move(ownership), build_time};
}

bool HaveEqualPoints(const NodeSet& a, const NodeSet& b) {
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    [](const RingNode& x, const RingNode& y) {
                      return x.identity == y.identity && x.weight == y.weight;
                    });
}

// The layout is left out: it never changes an owner.
void AddRing(const Ring& ring, internal::Checksum& checksum) {
  checksum.Add(static_cast<std::uint64_t>(ring.parameters().version));
  checksum.Add(std::uint64_t{ring.parameters().points_per_weight});
  checksum.Add(ring.checksum());
}

// Pools in the order of their names: theirs in the topology changes no answer.
void AddPools(const std::vector<DataCenter::Pool>& pools, internal::Checksum& checksum) {
  std::vector<const DataCenter::Pool*> sorted;
  for (const DataCenter::Pool& pool : pools) sorted.push_back(&pool);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto* a, const auto* b) { return a->name < b->name; });
  checksum.Add(std::uint64_t{sorted.size()});
  for (const DataCenter::Pool* pool : sorted) {
    checksum.Add(pool->name);
    checksum.Add(std::uint64_t{pool->nodes.count()});
    for (NodeIndex node = 0; node < pool->nodes.size(); ++node) {
      if (pool->nodes.Contains(node)) checksum.Add(std::uint64_t{node});
    }
  }
}

}  // namespace

absl::StatusOr<std::shared_ptr<const DataCenter>> DataCenter::Build(const DataCenterSpec& spec,
                                                                    const DataCenter* previous) {
  std::shared_ptr<DataCenter> built(new DataCenter());
  built->spec_ = spec;

  absl::StatusOr<std::shared_ptr<const NodeSet>> nodes = MakeNodeSet(spec);
  if (!nodes.ok()) return WithDataCenter(spec, nodes.status());
  built->node_set_ = *std::move(nodes);

  std::map<std::string_view, const NodeSpec*> specs;
  for (const NodeSpec& node : spec.nodes) specs[node.name] = &node;
  for (const RingNode& node : built->node_set_->nodes()) {
    built->nodes_.push_back({node.name, specs.at(node.name)->address});
  }

  built->pools_.push_back({std::string(kDefaultPool), NodeMask::All(built->node_set_->size())});
  for (const PoolSpec& pool : spec.pools) {
    absl::StatusOr<NodeMask> mask = MakePoolMask(spec, *built->node_set_, pool.name);
    if (!mask.ok()) return WithDataCenter(spec, mask.status());
    built->pools_.push_back({pool.name, *std::move(mask)});
  }

  const bool keeps_points =
      previous != nullptr && HaveEqualPoints(previous->node_set(), built->node_set());
  const auto take_or_build = [&](const RingParameters& parameters,
                                 const BuiltRing* old) -> absl::StatusOr<BuiltRing> {
    if (keeps_points && old != nullptr && old->ring->parameters() == parameters) return *old;
    return BuildRing(built->node_set_, parameters);
  };
  if (spec.v1) {
    absl::StatusOr<BuiltRing> v1 = take_or_build(*spec.v1, previous ? previous->v1() : nullptr);
    if (!v1.ok()) return WithDataCenter(spec, v1.status());
    built->v1_ = *std::move(v1);
  }
  absl::StatusOr<BuiltRing> v2 = take_or_build(spec.v2, previous ? &previous->v2() : nullptr);
  if (!v2.ok()) return WithDataCenter(spec, v2.status());
  built->v2_ = *std::move(v2);

  internal::Checksum checksum;
  checksum.Add(std::uint64_t{built->v1_.has_value()});
  if (built->v1_) AddRing(*built->v1_->ring, checksum);
  AddRing(*built->v2_->ring, checksum);
  checksum.Add(std::uint64_t{built->nodes_.size()});
  for (const Node& node : built->nodes_) {
    checksum.Add(node.name);
    checksum.Add(node.address);
  }
  AddPools(built->pools_, checksum);
  built->checksum_ = checksum.Value();
  return built;
}

std::optional<std::size_t> DataCenter::FindPool(std::string_view name) const {
  if (name.empty()) return 0;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace ringshift
