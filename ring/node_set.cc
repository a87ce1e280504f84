#include "ring/node_set.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "ring/crc32.h"

namespace ringshift {

NodeSet::NodeSet(std::vector<RingNode> nodes) : nodes_(std::move(nodes)) {
  for (const RingNode& node : nodes_) total_weight_ += node.weight;
}

absl::StatusOr<std::shared_ptr<const NodeSet>> NodeSet::Create(std::vector<RingNode> nodes) {
  if (nodes.empty()) return absl::InvalidArgumentError("no nodes: a ring needs at least one");
  if (nodes.size() > kMaxNodes) {
    return absl::InvalidArgumentError(
        absl::StrCat(nodes.size(), " nodes; a data center has at most ", kMaxNodes));
  }
  for (const RingNode& node : nodes) {
    if (node.weight < 1 || node.weight > kMaxWeight) {
      return absl::InvalidArgumentError(absl::StrCat("node ", node.name, ": weight ", node.weight,
                                                     " is not in [1, ", kMaxWeight, "]"));
    }
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const RingNode& a, const RingNode& b) { return a.identity < b.identity; });
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    if (nodes[i - 1].identity == nodes[i].identity) {
      const auto [first, second] = std::minmax(nodes[i - 1].name, nodes[i].name);
      return absl::InvalidArgumentError(absl::StrCat(
          "nodes ", first, " and ", second, " have one ring identity, ",
          nodes[i].identity.ToString(), "; set ring_identity on one of them to tell them apart"));
    }
  }
  std::vector<std::string_view> names;
  names.reserve(nodes.size());
  for (const RingNode& node : nodes) names.push_back(node.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end()); twice != names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("two nodes are called ", absl::string_view(twice->data(), twice->size())));
  }
  return std::shared_ptr<const NodeSet>(new NodeSet(std::move(nodes)));
}

std::optional<NodeIndex> NodeSet::Find(std::string_view name) const {
  const auto found = std::find_if(nodes_.begin(), nodes_.end(),
                                  [name](const RingNode& node) { return node.name == name; });
  if (found == nodes_.end()) return std::nullopt;
  return static_cast<NodeIndex>(found - nodes_.begin());
}

bool HasStuckChain(const RingIdentity& identity) {
  return internal::Crc32OfStateThenWord(internal::Crc32Extend(0xFFFFFFFF, identity.bytes()), 0) ==
         0;
}

}  // namespace ringshift
