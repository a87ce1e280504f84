#include "routing/explain.h"

#include <span>
#include <utility>

#include "ring/node_mask.h"
#include "routing/internal/request.h"
#include "routing/previous_owner.h"

namespace ringshift {
namespace {

// REQUIRES: a node in `pool`
RingExplanation ExplainRing(const Ring& ring, std::uint32_t position, const NodeMask& pool,
                            std::size_t wanted) {
  RingExplanation explanation;
  explanation.version = ring.parameters().version;
  explanation.point_index = ring.FindPoint(position);
  explanation.point = ring.point(explanation.point_index);
  explanation.wraps = explanation.point.hash < position;
  // A node has at most one point on a hash.
  const std::size_t next = explanation.point_index + 1;
  explanation.is_tied =
      next < ring.point_count() && ring.point(next).hash == explanation.point.hash;
  explanation.nodes.resize(wanted);
  explanation.nodes.resize(ring.FindNodes(position, pool, explanation.nodes));

  NodeMask passed(ring.nodes().size());
  for (std::size_t i = explanation.point_index;; i = i + 1 == ring.point_count() ? 0 : i + 1) {
    const NodeIndex node = ring.point(i).node;
    if (node == explanation.nodes.back()) break;  // the walk had them all here
    if (pool.Contains(node) || passed.Contains(node)) continue;
    passed.Insert(node);
    if (explanation.passed.size() < RingExplanation::kMaxPassed) {
      explanation.passed.push_back({node, PassReason::kNotInPool});
    }
  }
  explanation.passed_count = passed.count();
  return explanation;
}

}  // namespace

absl::StatusOr<Explanation> Explain(const RoutingTable& table, const RouteRequest& request) {
  const absl::StatusOr<RouteAnswer> answer = Route(table, request);
  if (!answer.ok()) return answer.status();
  const DataCenter& data_center = table.data_center();
  const NodeMask& pool = data_center.pools()[answer->pool].nodes;
  const std::size_t wanted = internal::WantedNodes(request);

  Explanation explanation;
  explanation.answer = *answer;
  explanation.decision_hash = table.decision().Hash(request.key);
  if (const DataCenter::BuiltRing* v1 = data_center.v1()) {
    explanation.v1 = ExplainRing(*v1->ring, answer->position, pool, wanted);
  }
  if (const DataCenter::BuiltRing* v2 = data_center.v2()) {
    explanation.v2 = ExplainRing(*v2->ring, answer->position, pool, wanted);
  }
  explanation.previous_owner_reason = DescribePreviousOwner(
      table, answer->pool, answer->position, answer->bucket, answer->ring_version, answer->nodes());
  return explanation;
}

}  // namespace ringshift
