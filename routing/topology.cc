#include "routing/topology.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

bool HasAllFeatures(const NodeSpec& node, const std::vector<std::string>& required) {
  return std::all_of(required.begin(), required.end(), [&node](const std::string& feature) {
    return std::find(node.features.begin(), node.features.end(), feature) != node.features.end();
  });
}

}  // namespace

const DataCenterSpec* Topology::Find(std::string_view name) const {
  const auto found =
      std::find_if(data_centers.begin(), data_centers.end(),
                   [name](const DataCenterSpec& data_center) { return data_center.name == name; });
  return found == data_centers.end() ? nullptr : &*found;
}

absl::StatusOr<std::shared_ptr<const NodeSet>> MakeNodeSet(const DataCenterSpec& data_center) {
  std::vector<RingNode> nodes;
  nodes.reserve(data_center.nodes.size());
  for (const NodeSpec& node : data_center.nodes) {
    absl::StatusOr<RingIdentity> identity =
        RingIdentity::Parse(node.ring_identity.value_or(node.address), data_center.identity_style);
    if (!identity.ok()) {
      return absl::Status(identity.status().code(),
                          absl::StrCat("node ", node.name, ": ", identity.status().message()));
    }
    nodes.push_back({node.name, *std::move(identity), node.weight});
  }
  return NodeSet::Create(std::move(nodes));
}

absl::StatusOr<NodeMask> MakePoolMask(const DataCenterSpec& data_center, const NodeSet& nodes,
                                      std::string_view pool) {
  if (pool.empty() || pool == kDefaultPool) return NodeMask::All(nodes.size());
  const auto spec = std::find_if(data_center.pools.begin(), data_center.pools.end(),
                                 [pool](const PoolSpec& p) { return p.name == pool; });
  if (spec == data_center.pools.end()) {
    std::vector<std::string> known = {std::string(kDefaultPool)};
    for (const PoolSpec& p : data_center.pools) known.push_back(p.name);
    return absl::NotFoundError(UnknownNameMessage("pool", pool, known));
  }
  std::map<std::string_view, NodeIndex> indexes;
  for (NodeIndex index = 0; index < nodes.size(); ++index) indexes[nodes[index].name] = index;
  NodeMask mask(nodes.size());
  for (const NodeSpec& node : data_center.nodes) {
    if (HasAllFeatures(node, spec->required_features)) mask.Insert(indexes.at(node.name));
  }
  return mask;
}

std::string UnknownNameMessage(std::string_view kind, std::string_view name,
                               const std::vector<std::string>& known) {
  constexpr std::size_t kShownBytes = 64;
  constexpr std::size_t kShownNames = 10;
  const std::string_view head = name.substr(0, kShownBytes);
  std::string message = absl::StrCat("unknown ", absl::string_view(kind.data(), kind.size()), " \"",
                                     absl::CHexEscape(absl::string_view(head.data(), head.size())),
                                     head.size() < name.size() ? "..." : "", "\"; known: ");
  if (known.empty()) message += "none";
  for (std::size_t i = 0; i < std::min(known.size(), kShownNames); ++i) {
    absl::StrAppend(&message, i == 0 ? "" : ", ", known[i]);
  }
  if (known.size() > kShownNames) {
    absl::StrAppend(&message, " and ", known.size() - kShownNames, " more");
  }
  return message;
}

}  // namespace ringshift
