#include "server/topology_page.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <system_error>
#include <vector>

#include "server/migration_proto.h"

namespace ringshift {
namespace {

// A token is this many hex digits of the table's checksum, a colon, and the name of the last node
// of the page before.
constexpr std::size_t kChecksumDigits = 16;

struct Position {
  std::uint64_t checksum = 0;
  std::string_view after;
};

absl::StatusOr<Position> ParseToken(std::string_view token) {
  Position position;
  if (token.size() > kChecksumDigits + 1 && token[kChecksumDigits] == ':') {
    const char* const end = token.data() + kChecksumDigits;
    const auto [parsed, error] = std::from_chars(token.data(), end, position.checksum, 16);
    position.after = token.substr(kChecksumDigits + 1);
    if (error == std::errc() && parsed == end) return position;
  }
  return BadPageToken();
}

std::string MakeToken(std::uint64_t checksum, const std::string& last) {
  char digits[kChecksumDigits + 1];
  std::snprintf(digits, sizeof digits, "%016" PRIx64, checksum);
  return std::string(digits) + ":" + last;
}

void ToProto(const NodeSpec& node, IdentityStyle style, v1::Node& proto) {
  proto.set_name(node.name);
  proto.set_address(node.address);
  proto.set_weight(node.weight);
  for (const std::string& feature : node.features) proto.add_features(feature);
  proto.set_zone(node.zone);
  const auto identity = RingIdentity::Parse(node.ring_identity.value_or(node.address), style);
  if (identity.ok()) proto.set_ring_identity(identity->ToString());
}

void AddPools(const DataCenter& data_center, v1::GetTopologyResponse& response) {
  for (const DataCenter::Pool& pool : data_center.pools()) {
    v1::Pool& proto = *response.add_pools();
    proto.set_name(pool.name);
    proto.set_nodes(static_cast<std::int32_t>(pool.nodes.count()));
    for (const PoolSpec& spec : data_center.spec().pools) {
      if (spec.name != pool.name) continue;
      for (const std::string& feature : spec.required_features) {
        proto.add_required_features(feature);
      }
    }
  }
}

// The first `count` nodes by name that come after `after`.
std::vector<const NodeSpec*> NodesAfter(const DataCenterSpec& spec, std::string_view after,
                                        std::size_t count) {
  std::vector<const NodeSpec*> nodes;
  for (const NodeSpec& node : spec.nodes) {
    if (node.name > after) nodes.push_back(&node);
  }
  const auto end = nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, nodes.size()));
  std::partial_sort(nodes.begin(), end, nodes.end(),
                    [](const NodeSpec* a, const NodeSpec* b) { return a->name < b->name; });
  nodes.erase(end, nodes.end());
  return nodes;
}

}  // namespace

absl::Status FillTopologyPage(const RoutingTable& table, std::string_view token,
                              std::size_t max_nodes, std::size_t max_bytes,
                              v1::GetTopologyResponse& response) {
  Position position{table.checksum(), ""};
  if (!token.empty()) {
    absl::StatusOr<Position> parsed = ParseToken(token);
    if (!parsed.ok()) return parsed.status();
    position = *parsed;
  }
  if (position.checksum != table.checksum()) {
    return absl::AbortedError("data center \"" + table.data_center().name() +
                              "\" has changed since the page before; begin again with the first");
  }
  const DataCenterSpec& spec = table.data_center().spec();
  response.set_identity_style(spec.identity_style == IdentityStyle::kNginx ? "nginx" : "canonical");
  if (token.empty()) AddPools(table.data_center(), response);

  std::size_t bytes = response.ByteSizeLong();
  // One more, to see whether there is another page.
  const std::vector<const NodeSpec*> nodes = NodesAfter(spec, position.after, max_nodes + 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    v1::Node& proto = *response.add_nodes();
    ToProto(*nodes[i], spec.identity_style, proto);
    bytes += proto.ByteSizeLong() + 8;  // with its tag and length
    if (i < max_nodes && (i == 0 || bytes <= max_bytes)) continue;
    response.mutable_nodes()->RemoveLast();
    response.set_next_page_token(MakeToken(table.checksum(), nodes[i - 1]->name));
    break;
  }
  return absl::OkStatus();
}

}  // namespace ringshift
