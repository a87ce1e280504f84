#include "client/ringctl/verify_mapping.h"

namespace ringshift {
namespace {

// Whether several nodes have a point on the hash of the first point at or after `position`.
bool IsTied(const Ring& ring, std::uint32_t position) {
  const Ring::Point first = ring.point(ring.FindPoint(position));
  // The points on one hash are in the order of a rule that keeps a node's own together.
  std::size_t end = ring.point_count();
  if (first.hash < 0xFFFFFFFF) {
    const std::size_t next = ring.FindPoint(first.hash + 1);
    if (next > 0) end = next;
  }
  return ring.point(end - 1).node != first.node;
}

}  // namespace

MappingVerifier::MappingVerifier(const OfflineDataCenter& data_center, const Ring& ring)
    : data_center_(data_center), ring_(ring) {
  for (const RingNode& node : data_center.nodes->nodes()) known_owners_.insert(node.name);
  known_owners_.insert(data_center.addresses.begin(), data_center.addresses.end());
}

MappingVerifier::Verdict MappingVerifier::Verify(std::string_view key,
                                                 const std::string& expected) {
  ++keys_;
  const std::uint32_t position = Ring::Position(key);
  Verdict verdict;
  verdict.found = ring_.OwnerAt(position);
  verdict.same = expected == (*data_center_.nodes)[verdict.found].name ||
                 expected == data_center_.addresses[verdict.found];
  if (verdict.same) return verdict;
  verdict.tied = IsTied(ring_, position);
  ++different_;
  different_tied_ += verdict.tied;
  if (!known_owners_.contains(expected)) ++unknown_owners_[expected];
  return verdict;
}

}  // namespace ringshift
