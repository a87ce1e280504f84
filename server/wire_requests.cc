#include "server/wire_requests.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <algorithm>
#include <limits>
#include <string>

#include "routing/route_batch.h"
#include "server/wire_format.h"

namespace ringshift {
namespace {

// Each field that it does not know costs protobuf some 80 ns and 50 bytes.
constexpr std::size_t kMaxOtherBytes = std::size_t{64} << 10;

// Goes over a message's bytes, as long as they have the forms that it knows.
class Scanner {
 public:
  explicit Scanner(std::string_view bytes)
      : next_(bytes.data()), end_(bytes.data() + bytes.size()) {}

  bool AtEnd() const { return next_ == end_; }
  // The next byte, which is all of a tag if it is one of a low field. REQUIRES: !AtEnd()
  std::uint8_t Take() { return static_cast<std::uint8_t>(*next_++); }

  // The value behind a tag of kWireBytes. False if it is not all there, or has 2 MiB or more.
  bool TakeBytes(std::string_view& value) {
    std::size_t size = 0;
    for (int shift = 0;; shift += 7) {
      if (AtEnd() || shift > 14) return false;
      const std::uint8_t byte = Take();
      size |= std::size_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) break;
    }
    if (size > static_cast<std::size_t>(end_ - next_)) return false;
    value = std::string_view(next_, size);
    next_ += size;
    return true;
  }

  // The same, false also if the value is not all ASCII.
  bool TakeName(std::string_view& value) {
    return TakeBytes(value) && std::all_of(value.begin(), value.end(), [](char c) {
             return static_cast<unsigned char>(c) < 0x80;
           });
  }

  // The value behind a tag of kWireVarint. False if it is not there, or not of one byte.
  bool TakeSmallNumber(std::int32_t& value) {
    if (AtEnd()) return false;
    value = Take();
    return value < 0x80;
  }

 private:
  const char* next_;
  const char* const end_;
};

bool Scan(std::string_view bytes, RouteRequestReader::Fields& fields) {
  for (Scanner scanner(bytes); !scanner.AtEnd();) {
    bool is_known = false;
    switch (scanner.Take()) {
      case WireTag(v1::RouteRequest::kDataCenterFieldNumber, kWireBytes):
        is_known = scanner.TakeName(fields.data_center);
        break;
      case WireTag(v1::RouteRequest::kKeyFieldNumber, kWireBytes):
        is_known = scanner.TakeBytes(fields.key);
        break;
      case WireTag(v1::RouteRequest::kPoolFieldNumber, kWireBytes):
        is_known = scanner.TakeName(fields.pool);
        break;
      case WireTag(v1::RouteRequest::kReplicasFieldNumber, kWireVarint):
        is_known = scanner.TakeSmallNumber(fields.replicas);
        break;
    }
    if (!is_known) return false;
  }
  return true;
}

// The bytes in one piece; false if there are none, not even of an empty message.
bool InOnePiece(const grpc::ByteBuffer& buffer, grpc::Slice& bytes) {
  return buffer.TrySingleSlice(&bytes).ok() || buffer.DumpToSingleSlice(&bytes).ok();
}

std::string_view ToView(const grpc::Slice& bytes) {
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

// Has protobuf read all but the keys, which are the fields of `key_tag`: `add_key` gets these, in
// their order. False if protobuf would refuse the message, or it has too many other bytes.
template <typename Message, typename AddKey>
bool Parse(std::string_view bytes, std::uint32_t key_tag, std::optional<Message>& message,
           const AddKey& add_key) {
  using google::protobuf::internal::WireFormatLite;
  if (bytes.size() > std::numeric_limits<int>::max()) return false;
  const auto size = static_cast<int>(bytes.size());
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               size);
  std::string others;
  while (input.CurrentPosition() < size) {
    const int begin = input.CurrentPosition();
    const std::uint32_t tag = input.ReadTag();
    if (tag == key_tag) {
      const int size_begin = input.CurrentPosition();
      int key_size = 0;
      if (!input.ReadVarintSizeAsInt(&key_size)) return false;
      const int key_begin = input.CurrentPosition();
      // The stream takes longer forms than the parser.
      constexpr int kMaxBytes = 5;
      if (size_begin - begin > kMaxBytes || key_begin - size_begin > kMaxBytes) return false;
      if (!input.Skip(key_size)) return false;
      add_key(
          bytes.substr(static_cast<std::size_t>(key_begin), static_cast<std::size_t>(key_size)));
      continue;
    }
    if (!WireFormatLite::SkipField(&input, tag)) return false;
    const auto other_size = static_cast<std::size_t>(input.CurrentPosition() - begin);
    if (others.size() + other_size > kMaxOtherBytes) return false;
    others.append(bytes, static_cast<std::size_t>(begin), other_size);
  }
  message.emplace();
  return message->ParseFromString(others);
}

}  // namespace

bool RouteRequestReader::Read(const grpc::ByteBuffer& request) {
  Clear();
  if (!InOnePiece(request, bytes_)) return false;
  if (Scan(ToView(bytes_), fields_)) return true;
  std::string_view key;
  if (!Parse(ToView(bytes_), WireTag(v1::RouteRequest::kKeyFieldNumber, kWireBytes), message_,
             [&key](std::string_view last) { key = last; })) {
    Clear();
    return false;
  }
  fields_ = {message_->data_center(), key, message_->pool(), message_->replicas()};
  return true;
}

void RouteRequestReader::Clear() {
  fields_ = {};
  message_.reset();
  bytes_ = grpc::Slice();
}

bool BatchRequestReader::Read(const grpc::ByteBuffer& request) {
  Clear();
  if (!InOnePiece(request, bytes_)) return false;
  if (Scan(ToView(bytes_))) return true;
  keys_.clear();
  fields_.key_count = 0;
  if (!Parse(ToView(bytes_), WireTag(v1::RouteBatchRequest::kKeysFieldNumber, kWireBytes), message_,
             [this](std::string_view key) { AddKey(key); })) {
    Clear();
    return false;
  }
  fields_.data_center = message_->data_center();
  fields_.pool = message_->pool();
  return true;
}

bool BatchRequestReader::Scan(std::string_view bytes) {
  for (Scanner scanner(bytes); !scanner.AtEnd();) {
    bool is_known = false;
    std::string_view key;
    switch (scanner.Take()) {
      case WireTag(v1::RouteBatchRequest::kDataCenterFieldNumber, kWireBytes):
        is_known = scanner.TakeName(fields_.data_center);
        break;
      case WireTag(v1::RouteBatchRequest::kPoolFieldNumber, kWireBytes):
        is_known = scanner.TakeName(fields_.pool);
        break;
      case WireTag(v1::RouteBatchRequest::kKeysFieldNumber, kWireBytes):
        is_known = scanner.TakeBytes(key);
        if (is_known) AddKey(key);
        break;
    }
    if (!is_known) return false;
  }
  return true;
}

void BatchRequestReader::AddKey(std::string_view key) {
  if (fields_.key_count++ < kMaxBatchKeys) keys_.push_back(key);
}

void BatchRequestReader::Clear() {
  fields_ = {};
  keys_.clear();
  message_.reset();
  bytes_ = grpc::Slice();
}

}  // namespace ringshift
