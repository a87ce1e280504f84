#include "client/ringctl/routed_node.h"

namespace ringshift {

std::string_view RingVersionText(v1::RingVersion version) {
  switch (version) {
    case v1::RING_VERSION_V1:
      return "v1";
    case v1::RING_VERSION_V2:
      return "v2";
    default:
      return "unknown";
  }
}

void WriteNode(const v1::RoutedNode& node, JsonWriter& json) {
  json.BeginObject();
  json.Key("name").String(node.name());
  json.Key("address").String(node.address());
  json.EndObject();
}

void WriteOptionalNode(bool is_present, const v1::RoutedNode& node, JsonWriter& json) {
  if (is_present) {
    WriteNode(node, json);
  } else {
    json.Null();
  }
}

}  // namespace ringshift
