#include "server/wire_responses.h"

#include <grpc/slice.h>
#include <grpcpp/support/slice.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "ringshift/v1/routing.pb.h"
#include "server/routing_proto.h"
#include "server/wire_format.h"

namespace ringshift {
namespace {

// The numbers of the versions are those of the enum in the proto.
static_assert(static_cast<int>(RingVersion::kV1) == v1::RING_VERSION_V1);
static_assert(static_cast<int>(RingVersion::kV2) == v1::RING_VERSION_V2);

constexpr std::size_t kMaxVarintBytes = 10;

// Of nodes' bytes, what is kept for the next batch.
constexpr std::size_t kKeptNodeBytes = std::size_t{64} << 10;

std::size_t PutVarint(std::uint64_t value, std::uint8_t* at) {
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) at[size++] = static_cast<std::uint8_t>(value | 0x80);
  at[size++] = static_cast<std::uint8_t>(value);
  return size;
}

std::size_t VarintSize(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

void AppendVarint(std::uint64_t value, std::string& bytes) {
  std::uint8_t varint[kMaxVarintBytes];
  bytes.append(reinterpret_cast<const char*>(varint), PutVarint(value, varint));
}

void AppendTag(int field, int wire_type, std::string& bytes) {
  bytes.push_back(static_cast<char>(WireTag(field, wire_type)));
}

// A field of proto3 with its default value is not written.

void AppendNumberField(int field, std::uint64_t value, std::string& bytes) {
  if (value == 0) return;
  AppendTag(field, kWireVarint, bytes);
  AppendVarint(value, bytes);
}

void AppendSignedField(int field, std::int64_t value, std::string& bytes) {
  AppendNumberField(field, static_cast<std::uint64_t>(value), bytes);
}

void AppendFixed64Field(int field, std::uint64_t value, std::string& bytes) {
  if (value == 0) return;
  AppendTag(field, kWireFixed64, bytes);
  for (int shift = 0; shift < 64; shift += 8) bytes.push_back(static_cast<char>(value >> shift));
}

void AppendTextField(int field, std::string_view value, std::string& bytes) {
  if (value.empty()) return;
  AppendTag(field, kWireBytes, bytes);
  AppendVarint(value.size(), bytes);
  bytes.append(value);
}

std::size_t TextFieldSize(std::string_view value) {
  return value.empty() ? 0 : 1 + VarintSize(value.size()) + value.size();
}

void AppendNodeField(int field, const DataCenter::Node& node, std::string& bytes) {
  AppendTag(field, kWireBytes, bytes);
  AppendVarint(TextFieldSize(node.name) + TextFieldSize(node.address), bytes);
  AppendTextField(v1::RoutedNode::kNameFieldNumber, node.name, bytes);
  AppendTextField(v1::RoutedNode::kAddressFieldNumber, node.address, bytes);
}

void AppendTableField(int field, const RoutingTable& table, std::string& bytes) {
  AppendTag(field, kWireBytes, bytes);
  const std::size_t size_at = bytes.size();
  bytes.push_back(0);  // at most 31 bytes follow: a length of one byte
  AppendFixed64Field(v1::TableIdentity::kChecksumFieldNumber, table.checksum(), bytes);
  AppendSignedField(v1::TableIdentity::kMigrationRevisionFieldNumber, table.migration().revision,
                    bytes);
  AppendSignedField(v1::TableIdentity::kV2PpmFieldNumber, table.share().ppm(), bytes);
  bytes[size_at] = static_cast<char>(bytes.size() - size_at - 1);
}

void SetTo(grpc_slice bytes, grpc::ByteBuffer& buffer) {
  const grpc::Slice slice(bytes, grpc::Slice::STEAL_REF);
  grpc::ByteBuffer of_slice(&slice, 1);
  buffer.Swap(&of_slice);
}

}  // namespace

void RouteResponseWriter::Write(const RoutingTable& table, const RouteAnswer& answer, int replicas,
                                grpc::ByteBuffer& response) {
  using Message = v1::RouteResponse;
  bytes_.clear();
  const std::span<const NodeIndex> nodes = answer.nodes();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    AppendNodeField(i == 0 ? Message::kOwnerFieldNumber : Message::kReplicasFieldNumber,
                    table.data_center().node(nodes[i]), bytes_);
  }
  AppendNumberField(Message::kRingVersionFieldNumber,
                    static_cast<std::uint64_t>(answer.ring_version), bytes_);
  AppendTableField(Message::kTableFieldNumber, table, bytes_);
  AppendNumberField(Message::kIsShortFieldNumber, IsShort(answer, replicas), bytes_);
  if (answer.previous_owner) {
    AppendNodeField(Message::kPreviousOwnerFieldNumber,
                    table.data_center().node(*answer.previous_owner), bytes_);
  }
  SetTo(::grpc_slice_from_copied_buffer(bytes_.data(), bytes_.size()), response);
}

void BatchResponseWriter::AddNode(const DataCenter::Node& node) {
  AppendNodeField(v1::RouteBatchResponse::kNodesFieldNumber, node, nodes_);
}

void BatchResponseWriter::Numbers::AddLarge(std::uint32_t number) {
  bytes += PutVarint(number, all.data() + bytes);
}

void BatchResponseWriter::Finish(const RoutingTable& table, grpc::ByteBuffer& response) {
  using Message = v1::RouteBatchResponse;
  std::string before_indexes, before_versions, behind;
  if (keys_ > 0) {
    AppendTag(Message::kNodeIndexesFieldNumber, kWireBytes, before_indexes);
    AppendVarint(indexes_.bytes, before_indexes);
    AppendTag(Message::kRingVersionsFieldNumber, kWireBytes, before_versions);
    AppendVarint(keys_, before_versions);
  }
  AppendTableField(Message::kTableFieldNumber, table, behind);
  if (places_.bytes > 0) {
    AppendTag(Message::kPreviousOwnerPlacesFieldNumber, kWireBytes, behind);
    AppendVarint(places_.bytes, behind);
  }

  const std::string_view parts[] = {nodes_,
                                    before_indexes,
                                    indexes_.view(),
                                    before_versions,
                                    {reinterpret_cast<const char*>(versions_.data()), keys_},
                                    behind,
                                    places_.view()};
  std::size_t size = 0;
  for (const std::string_view part : parts) size += part.size();
  grpc_slice slice = ::grpc_slice_malloc(size);
  std::uint8_t* end = GRPC_SLICE_START_PTR(slice);
  for (const std::string_view part : parts) end = std::copy(part.begin(), part.end(), end);
  SetTo(slice, response);
  Clear();
}

void BatchResponseWriter::Clear() {
  if (nodes_.capacity() > kKeptNodeBytes) nodes_ = std::string();
  nodes_.clear();
  indexes_.bytes = 0;
  places_.bytes = 0;
  keys_ = 0;
}

}  // namespace ringshift
