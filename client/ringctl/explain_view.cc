#include "client/ringctl/explain_view.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/routed_node.h"
#include "client/ringctl/table.h"
#include "client/ringctl/text.h"

namespace ringshift {
namespace {

std::string Hex32(std::uint32_t value) { return absl::StrFormat("%08x", value); }

std::string Describe(const v1::RoutedNode& node) {
  return absl::StrCat(node.name(), " (", node.address(), ")");
}

std::string_view ReasonName(v1::PassReason reason) {
  switch (reason) {
    case v1::PASS_REASON_NOT_IN_POOL:
      return "not_in_pool";
    default:
      return "unknown";
  }
}

std::string DescribeReason(v1::PassReason reason, const std::string& pool) {
  switch (reason) {
    case v1::PASS_REASON_NOT_IN_POOL:
      return "not in pool " + pool;
    default:
      return "for a reason that this ringctl does not know";
  }
}

// A row for each of the nodes behind the owner.
void AddReplicas(const google::protobuf::RepeatedPtrField<v1::RoutedNode>& replicas, Table& table) {
  for (const v1::RoutedNode& node : replicas) table.AddRow({"  then", Describe(node)});
}

void PrintAnswer(const v1::ExplainRouteRequest& request, const v1::ExplainRouteResponse& response,
                 bool as_hex, Output& output) {
  const v1::RouteResponse& answer = response.answer();
  const std::string ring(RingVersionText(answer.ring_version()));
  const std::int32_t share = response.effective_v2_ppm();
  Table table({{""}, {""}});
  table.AddRow({"key", absl::StrCat(as_hex ? ToHex(request.key()) : request.key(), " (",
                                    request.key().size(),
                                    request.key().size() == 1 ? " byte)" : " bytes)")});
  table.AddRow({"data center", absl::StrCat(request.data_center(), ", pool ", response.pool())});
  table.AddRow({"owner", Describe(answer.owner())});
  AddReplicas(answer.replicas(), table);
  if (answer.is_short()) table.AddRow({"", "the pool has no further nodes"});
  const std::string& previous_reason = response.previous_owner_reason();
  table.AddRow(
      {"previous",
       absl::StrCat(answer.has_previous_owner() ? Describe(answer.previous_owner()) : "none",
                    previous_reason.empty() ? "" : ": ", previous_reason)});
  table.AddRow(
      {"answered by", absl::StrCat(ring, ": bucket ", response.bucket(), " is ",
                                   response.bucket() < share ? "" : "not ", "below ", share)});
  const std::string why =
      response.effective_reason().empty()
          ? ""
          : absl::StrCat(share == response.requested_v2_ppm()
                             ? ""
                             : ", not the requested " + PercentOfPpm(response.requested_v2_ppm()),
                         ": ", response.effective_reason());
  table.AddRow({"share of v2", PercentOfPpm(share) + why});
  table.AddRow({"decision", absl::StrCat(response.decision_algorithm(), ", hash ",
                                         ChecksumText(response.decision_hash()))});
  table.AddRow({"  salt", response.salt()});
  table.AddRow({"position", Hex32(response.position()) + ", crc32 of the key"});
  table.AddRow({"table", ChecksumText(answer.table().checksum())});
  if (answer.table().migration_revision() > 0) {
    table.AddRow({"  revision", absl::StrCat(answer.table().migration_revision())});
  }
  table.Print(output);
}

void PrintRing(const v1::RingExplanation& ring, const v1::ExplainRouteResponse& response,
               Output& output) {
  constexpr int kShownPassed = 20;
  output.Write(absl::StrCat(
      "\n", std::string(RingVersionText(ring.ring_version())),
      ring.ring_version() == response.answer().ring_version() ? ", which answers" : "", "\n"));
  Table table({{""}, {""}});
  table.AddRow({"  rule", absl::StrCat(ring.algorithm(), ", ",
                                       HumanCount(static_cast<std::uint64_t>(
                                           std::max<std::int64_t>(ring.points_per_weight(), 0))),
                                       " points a unit of weight")});
  table.AddRow(
      {"  first point", absl::StrCat(Hex32(ring.point_hash()), ", index ", ring.point_index(),
                                     ", of ", Describe(ring.point_node()))});
  if (ring.wraps()) {
    table.AddRow({"", "the walk wraps around: no point is at the position or after it"});
  }
  if (ring.is_tied()) {
    table.AddRow({"", "tied: several nodes have a point there, and the rule orders them"});
  }
  const int shown = std::min(ring.passed_size(), kShownPassed);
  for (int i = 0; i < shown; ++i) {
    const v1::PassedNode& passed = ring.passed(i);
    table.AddRow({i == 0 ? "  passed over" : "",
                  absl::StrCat(Describe(passed.node()), ": ",
                               DescribeReason(passed.reason(), response.pool()))});
  }
  if (ring.passed_count() > shown) {
    table.AddRow({"", absl::StrCat("and ", ring.passed_count() - shown, " more")});
  }
  table.AddRow({"  owner", Describe(ring.owner())});
  AddReplicas(ring.replicas(), table);
  table.AddRow({"  checksum", ChecksumText(ring.checksum())});
  table.Print(output);
}

void WriteNodes(const google::protobuf::RepeatedPtrField<v1::RoutedNode>& nodes, JsonWriter& json) {
  json.BeginArray();
  for (const v1::RoutedNode& node : nodes) WriteNode(node, json);
  json.EndArray();
}

void WriteRing(const v1::RingExplanation& ring, JsonWriter& json) {
  json.BeginObject();
  json.Key("ring_version").String(RingVersionText(ring.ring_version()));
  json.Key("algorithm").String(ring.algorithm());
  json.Key("points_per_weight").Int(ring.points_per_weight());
  json.Key("checksum").String(ChecksumText(ring.checksum()));
  json.Key("point_index").Int(ring.point_index());
  json.Key("point_hash").String(Hex32(ring.point_hash()));
  json.Key("point_node");
  WriteNode(ring.point_node(), json);
  json.Key("wraps").Bool(ring.wraps());
  json.Key("is_tied").Bool(ring.is_tied());
  json.Key("owner");
  WriteNode(ring.owner(), json);
  json.Key("replicas");
  WriteNodes(ring.replicas(), json);
  json.Key("passed").BeginArray();
  for (const v1::PassedNode& passed : ring.passed()) {
    json.BeginObject();
    json.Key("node");
    WriteNode(passed.node(), json);
    json.Key("reason").String(ReasonName(passed.reason()));
    json.EndObject();
  }
  json.EndArray();
  json.Key("passed_count").Int(ring.passed_count());
  json.EndObject();
}

}  // namespace

void PrintExplanation(const v1::ExplainRouteRequest& request,
                      const v1::ExplainRouteResponse& response, bool as_hex, Output& output) {
  PrintAnswer(request, response, as_hex, output);
  for (const v1::RingExplanation& ring : response.rings()) PrintRing(ring, response, output);
}

void WriteExplanation(const v1::ExplainRouteRequest& request,
                      const v1::ExplainRouteResponse& response, bool as_hex, JsonWriter& json) {
  const v1::RouteResponse& answer = response.answer();
  json.BeginObject();
  json.RoutedKey(request.key(), as_hex);
  json.Key("data_center").String(request.data_center());
  json.Key("pool").String(response.pool());
  json.Key("ring_version").String(RingVersionText(answer.ring_version()));
  json.Key("owner");
  WriteNode(answer.owner(), json);
  json.Key("replicas");
  WriteNodes(answer.replicas(), json);
  json.Key("previous_owner");
  WriteOptionalNode(answer.has_previous_owner(), answer.previous_owner(), json);
  json.Key("previous_owner_reason").String(response.previous_owner_reason());
  json.Key("is_short").Bool(answer.is_short());
  json.Key("table_checksum").String(ChecksumText(answer.table().checksum()));
  json.Key("migration_revision").Int(answer.table().migration_revision());
  json.Key("position").String(Hex32(response.position()));
  json.Key("salt").String(response.salt());
  json.Key("decision_algorithm").String(response.decision_algorithm());
  json.Key("decision_hash").String(ChecksumText(response.decision_hash()));
  json.Key("bucket").Int(response.bucket());
  json.Key("requested_v2_ppm").Int(response.requested_v2_ppm());
  json.Key("effective_v2_ppm").Int(response.effective_v2_ppm());
  json.Key("effective_reason").String(response.effective_reason());
  json.Key("v1_warm_from_ppm").Int(response.v1_warm_from_ppm());
  json.Key("v2_warm_below_ppm").Int(response.v2_warm_below_ppm());
  json.Key("rings").BeginArray();
  for (const v1::RingExplanation& ring : response.rings()) WriteRing(ring, json);
  json.EndArray();
  json.EndObject();
}

}  // namespace ringshift
