#include "client/ringctl/build_estimate.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ring/node_set.h"
#include "ring/ring_identity.h"

namespace ringshift {
namespace {

absl::StatusOr<std::chrono::duration<double>> MeasureTimeForAPoint(RingLayout layout) {
  constexpr int kNodes = 64;
  constexpr std::uint32_t kPointsPerNode = 1U << 15;
  std::vector<RingNode> nodes;
  for (int i = 0; i < kNodes; ++i) {
    std::string name = "sample-" + std::to_string(i) + ":1";
    absl::StatusOr<RingIdentity> identity = RingIdentity::Parse(name, IdentityStyle::kCanonical);
    if (!identity.ok()) return identity.status();
    nodes.push_back({std::move(name), *std::move(identity), 1});
  }
  absl::StatusOr<std::shared_ptr<const NodeSet>> node_set = NodeSet::Create(std::move(nodes));
  if (!node_set.ok()) return node_set.status();
  const auto start = std::chrono::steady_clock::now();
  const absl::StatusOr<std::shared_ptr<const Ring>> ring =
      Ring::Build(*std::move(node_set), {RingVersion::kV1, kPointsPerNode, layout});
  if (!ring.ok()) return ring.status();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time / static_cast<double>((*ring)->point_count());
}

}  // namespace

absl::StatusOr<std::chrono::duration<double>> BuildEstimate::For(std::uint64_t points,
                                                                 RingLayout layout) {
  auto known = for_a_point_.find(layout);
  if (known == for_a_point_.end()) {
    const absl::StatusOr<std::chrono::duration<double>> measured = MeasureTimeForAPoint(layout);
    if (!measured.ok()) return measured.status();
    known = for_a_point_.emplace(layout, *measured).first;
  }
  return known->second * static_cast<double>(points);
}

}  // namespace ringshift
