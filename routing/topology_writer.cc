#include "routing/topology_writer.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

// A double-quoted YAML scalar of printable ASCII: quoted, no text is taken for something else.
void AppendQuoted(std::string_view text, std::string& yaml) {
  yaml += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') yaml += '\\';
    yaml += c;
  }
  yaml += '"';
}

void AppendQuotedList(const std::vector<std::string>& texts, std::string& yaml) {
  yaml += '[';
  for (const std::string& text : texts) {
    if (yaml.back() != '[') yaml += ", ";
    AppendQuoted(text, yaml);
  }
  yaml += ']';
}

void AppendNode(const NodeSpec& node, std::string& yaml) {
  yaml += "      - {name: ";
  AppendQuoted(node.name, yaml);
  yaml += ", address: ";
  AppendQuoted(node.address, yaml);
  absl::StrAppend(&yaml, ", weight: ", node.weight, ", features: ");
  AppendQuotedList(node.features, yaml);
  if (!node.zone.empty()) {
    yaml += ", zone: ";
    AppendQuoted(node.zone, yaml);
  }
  if (node.ring_identity) {
    yaml += ", ring_identity: ";
    AppendQuoted(*node.ring_identity, yaml);
  }
  yaml += "}\n";
}

void AppendPool(const PoolSpec& pool, std::string& yaml) {
  yaml += "      - {name: ";
  AppendQuoted(pool.name, yaml);
  yaml += ", required_features: ";
  AppendQuotedList(pool.required_features, yaml);
  yaml += "}\n";
}

void AppendRing(const RingParameters& parameters, std::string& yaml) {
  yaml += "      ";
  yaml += RingVersionName(parameters.version);
  absl::StrAppend(&yaml, ": {points_per_weight: ", parameters.points_per_weight, ", layout: ");
  yaml += RingLayoutName(parameters.layout);
  yaml += "}\n";
}

void AppendDataCenter(const DataCenterSpec& data_center, std::string& yaml) {
  yaml += "  - name: ";
  AppendQuoted(data_center.name, yaml);
  if (!data_center.tier.empty()) {
    yaml += "\n    tier: ";
    AppendQuoted(data_center.tier, yaml);
  }
  yaml += "\n    identity_style: ";
  yaml += data_center.identity_style == IdentityStyle::kNginx ? "nginx" : "canonical";
  yaml += "\n    nodes:\n";
  for (const NodeSpec& node : data_center.nodes) AppendNode(node, yaml);
  yaml += data_center.pools.empty() ? "    pools: []\n" : "    pools:\n";
  for (const PoolSpec& pool : data_center.pools) AppendPool(pool, yaml);
  yaml += "    rings:\n";
  if (data_center.v1) {
    AppendRing(*data_center.v1, yaml);
  } else {
    yaml += "      v1: none\n";
  }
  AppendRing(data_center.v2, yaml);
}

}  // namespace

std::string WriteTopology(const Topology& topology) {
  std::string yaml = "data_centers:\n";
  for (const DataCenterSpec& data_center : topology.data_centers) {
    AppendDataCenter(data_center, yaml);
  }
  return yaml;
}

}  // namespace ringshift
