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

absl::Status WithRing(RingVersion version, const absl::Status& status) {
  const std::string_view name = RingVersionName(version);
  return absl::Status(
      status.code(),
      absl::StrCat("ring ", absl::string_view(name.data(), name.size()), ": ", status.message()));
}

absl::StatusOr<DataCenter::BuiltRing> BuildRing(std::shared_ptr<const NodeSet> nodes,
                                                const RingParameters& parameters) {
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::shared_ptr<const Ring>> ring = Ring::Build(std::move(nodes), parameters);
  const std::chrono::duration<double> build_time = std::chrono::steady_clock::now() - start;
  if (!ring.ok()) return WithRing(parameters.version, ring.status());
  Ownership ownership = MeasureOwnership(**ring);
  return DataCenter::BuiltRing{*std::move(ring), std::move(ownership), build_time, {}};
}

bool HaveEqualPoints(const NodeSet& a, const NodeSet& b) {
  return std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    [](const RingNode& x, const RingNode& y) {
                      return x.identity == y.identity && x.weight == y.weight;
                    });
}

// The rings to have; at least one.
std::vector<RingParameters> KeptRings(const DataCenterSpec& spec, RetiredRing retired) {
  std::vector<RingParameters> kept;
  if (spec.v1 && retired != RetiredRing::kV1) kept.push_back(*spec.v1);
  if (retired != RetiredRing::kV2 || !spec.v1) kept.push_back(spec.v2);
  return kept;
}

// The ring of `previous` that is the one of `nodes` and `parameters`; null if there is none.
const DataCenter::BuiltRing* FindEqualRing(const DataCenter* previous, const NodeSet& nodes,
                                           const RingParameters& parameters) {
  if (previous == nullptr) return nullptr;
  const DataCenter::BuiltRing* const ring = previous->ring(parameters.version);
  const bool is_equal = ring != nullptr && ring->ring->parameters() == parameters &&
                        HaveEqualPoints(previous->node_set(), nodes);
  return is_equal ? ring : nullptr;
}

std::vector<const NodeMask*> MasksOf(const std::vector<DataCenter::Pool>& pools) {
  std::vector<const NodeMask*> masks;
  for (const DataCenter::Pool& pool : pools) masks.push_back(&pool.nodes);
  return masks;
}

// Whether rings of `previous` (may be null) serve these pools as they are.
bool HasPools(const DataCenter* previous, const std::vector<DataCenter::Pool>& pools) {
  return previous != nullptr &&
         std::equal(previous->pools().begin(), previous->pools().end(), pools.begin(), pools.end(),
                    [](const auto& a, const auto& b) { return a.nodes == b.nodes; });
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
                                                                    const DataCenter* previous,
                                                                    RetiredRing retired) {
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

  absl::StatusOr<std::vector<Pool>> pools = MakePools(spec, *built->node_set_);
  if (!pools.ok()) return WithDataCenter(spec, pools.status());
  built->pools_ = *std::move(pools);

  const auto take_or_build = [&](const RingParameters& parameters) -> absl::StatusOr<BuiltRing> {
    const BuiltRing* const equal = FindEqualRing(previous, *built->node_set_, parameters);
    if (equal != nullptr && HasPools(previous, built->pools_)) return *equal;
    absl::StatusOr<BuiltRing> ring =
        equal != nullptr ? *equal : BuildRing(built->node_set_, parameters);
    if (!ring.ok()) return ring;
    absl::StatusOr<std::vector<PoolRing>> pool_rings =
        BuildPoolRings(built->node_set_, *ring->ring, MasksOf(built->pools_));
    if (!pool_rings.ok()) return WithRing(parameters.version, pool_rings.status());
    ring->pools = *std::move(pool_rings);
    return ring;
  };
  for (const RingParameters& parameters : KeptRings(spec, retired)) {
    absl::StatusOr<BuiltRing> ring = take_or_build(parameters);
    if (!ring.ok()) return WithDataCenter(spec, ring.status());
    (parameters.version == RingVersion::kV1 ? built->v1_ : built->v2_) = *std::move(ring);
  }
  built->SetChecksums();
  return built;
}

std::shared_ptr<const DataCenter> DataCenter::Without(RetiredRing retired) const {
  std::shared_ptr<DataCenter> rest(new DataCenter(*this));
  if (retired == RetiredRing::kV1) rest->v1_.reset();
  if (retired == RetiredRing::kV2) rest->v2_.reset();
  rest->SetChecksums();
  return rest;
}

void DataCenter::SetChecksums() {
  for (const RetiredRing retired : {RetiredRing::kNone, RetiredRing::kV1, RetiredRing::kV2}) {
    const bool has_v1 = v1_ && retired != RetiredRing::kV1;
    internal::Checksum checksum;
    checksum.Add(std::uint64_t{has_v1});
    if (has_v1) AddRing(*v1_->ring, checksum);
    if (v2_ && (retired != RetiredRing::kV2 || !spec_.v1)) AddRing(*v2_->ring, checksum);
    checksum.Add(std::uint64_t{nodes_.size()});
    for (const Node& node : nodes_) {
      checksum.Add(node.name);
      checksum.Add(node.address);
    }
    AddPools(pools_, checksum);
    checksums_[static_cast<std::size_t>(retired)] = checksum.Value();
  }
}

absl::StatusOr<std::vector<DataCenter::Pool>> DataCenter::MakePools(const DataCenterSpec& spec,
                                                                    const NodeSet& nodes) {
  std::vector<Pool> pools = {{std::string(kDefaultPool), NodeMask::All(nodes.size())}};
  for (const PoolSpec& pool : spec.pools) {
    absl::StatusOr<NodeMask> mask = MakePoolMask(spec, nodes, pool.name);
    if (!mask.ok()) return mask.status();
    pools.push_back({pool.name, *std::move(mask)});
  }
  return pools;
}

absl::StatusOr<BuildMemory> DataCenter::MeasureBuild(const DataCenterSpec& spec,
                                                     const DataCenter* previous,
                                                     RetiredRing retired) {
  const absl::StatusOr<std::shared_ptr<const NodeSet>> nodes = MakeNodeSet(spec);
  if (!nodes.ok()) return WithDataCenter(spec, nodes.status());
  const absl::StatusOr<std::vector<Pool>> pools = MakePools(spec, **nodes);
  if (!pools.ok()) return WithDataCenter(spec, pools.status());
  BuildMemory memory;
  const auto add = [&](const RingParameters& parameters) {
    const absl::StatusOr<RingSize> size = Ring::Measure(**nodes, parameters);
    if (!size.ok()) return WithDataCenter(spec, WithRing(parameters.version, size.status()));
    const bool is_kept = FindEqualRing(previous, **nodes, parameters) != nullptr;
    if (is_kept && HasPools(previous, *pools)) return absl::OkStatus();
    if (!is_kept) {
      memory.ring_bytes += size->bytes;
      memory.peak_bytes = std::max(memory.peak_bytes, memory.ring_bytes + size->scratch_bytes);
    }
    const absl::StatusOr<std::uint64_t> pool_rings =
        MeasurePoolRings(**nodes, parameters, MasksOf(*pools));
    if (!pool_rings.ok()) return WithDataCenter(spec, pool_rings.status());
    memory.ring_bytes += *pool_rings;
    memory.peak_bytes = std::max(memory.peak_bytes, memory.ring_bytes);
    return absl::OkStatus();
  };
  for (const RingParameters& parameters : KeptRings(spec, retired)) {
    if (absl::Status added = add(parameters); !added.ok()) return added;
  }
  return memory;
}

std::uint64_t DataCenter::BuiltRing::memory_bytes() const {
  std::uint64_t bytes = ring->memory_bytes();
  for (const PoolRing& pool : pools) bytes += pool.own_bytes();
  return bytes;
}

std::optional<std::size_t> DataCenter::FindPool(std::string_view name) const {
  if (name.empty()) return 0;
  for (std::size_t i = 0; i < pools_.size(); ++i) {
    if (pools_[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace ringshift
