// The readers against protobuf's parser, on bytes of all kinds, in pieces of all sizes.
#include "server/wire_requests.h"

#include <gmock/gmock.h>
#include <google/protobuf/stubs/logging.h>
#include <grpcpp/support/slice.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "routing/route_batch.h"
#include "tests/testing/byte_buffers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ToByteBuffer;
using ::testing::ElementsAre;

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  // 0 to below - 1.
  std::size_t Below(std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(engine_);
  }
  bool OneIn(std::size_t n) { return Below(n) == 0; }
  std::string Bytes(std::size_t size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(Below(256));
    return bytes;
  }

 private:
  std::mt19937 engine_;
};

// In the shortest form, or, now and then, in a longer one.
std::string Varint(Random& random, std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>(value | 0x80));
  bytes.push_back(static_cast<char>(value));
  if (random.OneIn(30)) {
    for (std::size_t more = random.Below(11); more > 0; --more) {
      bytes.back() = static_cast<char>(bytes.back() | 0x80);
      bytes.push_back(static_cast<char>(random.OneIn(5) ? random.Below(128) : 0));
    }
  }
  return bytes;
}

std::string Prefixed(Random& random, const std::string& bytes) {
  std::uint64_t size = bytes.size();
  if (random.OneIn(100)) size += random.Below(3);
  if (random.OneIn(200)) size = std::uint64_t{1} << random.Below(64);
  return Varint(random, size) + bytes;
}

std::string Text(Random& random) {
  static const std::string kTexts[] = {
      "", "ams", "default", "é", "\xF0\x9F\x8C\x8D", "\xC3", "\xED\xA0\x80", std::string("\0", 1)};
  if (random.OneIn(20)) return random.Bytes(random.Below(40));
  return kTexts[random.OneIn(3) ? random.Below(std::size(kTexts)) : 1 + random.Below(2)];
}

std::string Tag(Random& random, std::size_t field, std::size_t type) {
  return Varint(random, field << 3 | type);
}

// A field of either request as a client writes it, or, where `is_odd`, any field of any type.
std::string Field(Random& random, bool is_odd, int depth = 0) {
  const std::size_t field =
      is_odd ? random.Below(random.OneIn(4) ? 20'000 : 6) : 1 + random.Below(3);
  const std::size_t type = is_odd ? random.Below(8) : 2;
  std::string bytes = Tag(random, field, type);
  switch (type) {
    case 0:
      return bytes + Varint(random, random.OneIn(3) ? ~std::uint64_t{0} >> random.Below(64)
                                                    : random.Below(200));
    case 1:
      return bytes + random.Bytes(8);
    case 2:
      return bytes +
             Prefixed(random, random.OneIn(4) ? random.Bytes(random.Below(300)) : Text(random));
    case 3:
      for (std::size_t fields = random.Below(3); fields > 0 && depth < 4; --fields) {
        bytes += Field(random, is_odd, depth + 1);
      }
      return bytes + Tag(random, random.OneIn(10) ? field + 1 : field, 4);
    case 5:
      return bytes + random.Bytes(4);
    default:  // the end of a group that did not begin, and types that there are not
      return bytes;
  }
}

std::string RandomMessage(Random& random) {
  std::string bytes;
  for (std::size_t fields = random.Below(8); fields > 0; --fields) {
    bytes += Field(random, random.OneIn(8));
  }
  if (random.OneIn(100)) {
    const std::size_t depth = 95 + random.Below(10);  // protobuf takes 100
    bytes += std::string(depth, '\x2B') + std::string(depth, '\x2C');
  }
  if (random.OneIn(2)) return bytes;
  for (std::size_t mutations = random.Below(3); mutations > 0 && !bytes.empty(); --mutations) {
    const std::size_t at = random.Below(bytes.size());
    switch (random.Below(4)) {
      case 0:
        bytes[at] = static_cast<char>(random.Below(256));
        break;
      case 1:
        bytes.resize(at);
        break;
      case 2:
        bytes.erase(at, 1);
        break;
      case 3:
        bytes.insert(at, random.Bytes(1 + random.Below(3)));
        break;
    }
  }
  return bytes;
}

grpc::ByteBuffer InPieces(Random& random, std::string_view bytes) {
  std::vector<grpc::Slice> slices;
  while (!bytes.empty() || random.OneIn(3)) {
    const std::size_t size = std::min(random.Below(random.OneIn(2) ? 4 : 200), bytes.size());
    slices.emplace_back(bytes.data(), size);
    bytes.remove_prefix(size);
  }
  return grpc::ByteBuffer(slices.data(), slices.size());
}

constexpr int kMessages = 40'000;

class WireRequestsTest : public ::testing::Test {
 protected:
  const google::protobuf::LogSilencer silencer_;  // of names that are no UTF-8
};

TEST_F(WireRequestsTest, ARouteIsReadOrRefusedAsProtobufDoes) {
  Random random(1);
  RouteRequestReader reader;
  int taken = 0;
  for (int i = 0; i < kMessages; ++i) {
    const std::string bytes = RandomMessage(random);
    SCOPED_TRACE(::testing::PrintToString(bytes));
    v1::RouteRequest message;
    const bool is_message = message.ParseFromString(bytes);
    taken += is_message;
    ASSERT_EQ(reader.Read(random.OneIn(2) ? ToByteBuffer(bytes) : InPieces(random, bytes)),
              is_message);
    if (!is_message) message.Clear();
    const RouteRequestReader::Fields& fields = reader.fields();
    ASSERT_EQ(fields.data_center, message.data_center());
    ASSERT_EQ(fields.key, message.key());
    ASSERT_EQ(fields.pool, message.pool());
    ASSERT_EQ(fields.replicas, message.replicas());
  }
  EXPECT_GT(taken, kMessages / 4);
  EXPECT_LT(taken, kMessages * 3 / 4);
}

TEST_F(WireRequestsTest, ABatchIsReadOrRefusedAsProtobufDoes) {
  Random random(2);
  BatchRequestReader reader;
  int taken = 0;
  for (int i = 0; i < kMessages; ++i) {
    const std::string bytes = RandomMessage(random);
    SCOPED_TRACE(::testing::PrintToString(bytes));
    v1::RouteBatchRequest message;
    const bool is_message = message.ParseFromString(bytes);
    taken += is_message;
    ASSERT_EQ(reader.Read(random.OneIn(2) ? ToByteBuffer(bytes) : InPieces(random, bytes)),
              is_message);
    if (!is_message) message.Clear();
    ASSERT_EQ(reader.fields().data_center, message.data_center());
    ASSERT_EQ(reader.fields().pool, message.pool());
    ASSERT_EQ(reader.fields().key_count, static_cast<std::size_t>(message.keys_size()));
    ASSERT_TRUE(std::equal(reader.keys().begin(), reader.keys().end(), message.keys().begin(),
                           message.keys().end()));
  }
  EXPECT_GT(taken, kMessages / 4);
  EXPECT_LT(taken, kMessages * 3 / 4);
}

TEST_F(WireRequestsTest, KeysOfAnyLengthAreRead) {
  Random random(3);
  v1::RouteBatchRequest batch;
  BatchRequestReader batch_reader;
  RouteRequestReader route_reader;
  // About where a length has a byte more, and about the longest that is read without protobuf.
  constexpr std::size_t kSizes[] = {0, 1, 127, 128, 16'383, 16'384, (1 << 21) - 1, 1 << 21};
  for (const std::size_t size : kSizes) {
    v1::RouteRequest route;
    route.set_data_center("ams");
    route.set_key(random.Bytes(size));
    batch.add_keys(route.key());
    ASSERT_TRUE(route_reader.Read(InPieces(random, route.SerializeAsString())));
    EXPECT_EQ(route_reader.fields().key, route.key());
  }
  ASSERT_TRUE(batch_reader.Read(InPieces(random, batch.SerializeAsString())));
  EXPECT_TRUE(std::equal(batch_reader.keys().begin(), batch_reader.keys().end(),
                         batch.keys().begin(), batch.keys().end()));
}

TEST_F(WireRequestsTest, OfTooManyKeysTheFirstAreKeptAndAllAreCounted) {
  v1::RouteBatchRequest request;
  for (std::size_t i = 0; i < 2 * kMaxBatchKeys; ++i) request.add_keys(std::to_string(i));
  // The second time protobuf reads it, for the sake of a field that is not known.
  for (const std::string unknown : {"", "\x78\x01"}) {
    BatchRequestReader reader;
    ASSERT_TRUE(reader.Read(ToByteBuffer(request.SerializeAsString() + unknown)));
    EXPECT_EQ(reader.fields().key_count, 2 * kMaxBatchKeys);
    ASSERT_EQ(reader.keys().size(), kMaxBatchKeys);
    EXPECT_EQ(reader.keys().back(), std::to_string(kMaxBatchKeys - 1));
    EXPECT_FALSE(reader.Read(ToByteBuffer(request.SerializeAsString() + unknown + "\x1A")));
    EXPECT_EQ(reader.fields().key_count, 0u);
  }
}

TEST_F(WireRequestsTest, TooManyBytesOfFieldsThatAreNotKnownAreRefused) {
  constexpr std::size_t kMostFields = (64 << 10) / 3;
  const auto request = [](std::size_t unknown_fields) {
    std::string bytes(
        "\x0A\x03"
        "ams"
        "\x12\x01k\x1A\x01k",
        11);
    for (std::size_t i = 0; i < unknown_fields; ++i) bytes += std::string("\x9A\x06\x00", 3);
    return ToByteBuffer(bytes);
  };
  // Names are read by protobuf as well where there is such a field, and are among the bytes.
  EXPECT_TRUE(RouteRequestReader().Read(request(kMostFields - 3)));
  EXPECT_TRUE(BatchRequestReader().Read(request(kMostFields - 3)));
  EXPECT_FALSE(RouteRequestReader().Read(request(kMostFields + 1)));
  BatchRequestReader reader;
  EXPECT_FALSE(reader.Read(request(kMostFields + 1)));
  EXPECT_TRUE(reader.keys().empty());
}

TEST_F(WireRequestsTest, NothingIsLeftOfTheRequestBefore) {
  BatchRequestReader reader;
  v1::RouteBatchRequest request;
  request.set_data_center("ams");
  request.set_pool("pool");
  request.add_keys("key");
  ASSERT_TRUE(reader.Read(ToByteBuffer(request)));
  EXPECT_THAT(reader.keys(), ElementsAre("key"));
  ASSERT_TRUE(reader.Read(ToByteBuffer(std::string())));
  EXPECT_EQ(reader.fields().data_center, "");
  EXPECT_EQ(reader.fields().pool, "");
  EXPECT_TRUE(reader.keys().empty());
}

TEST_F(WireRequestsTest, ABufferWithoutAMessageIsNoRequest) {
  EXPECT_FALSE(RouteRequestReader().Read(grpc::ByteBuffer()));
  EXPECT_FALSE(BatchRequestReader().Read(grpc::ByteBuffer()));
}

}  // namespace
}  // namespace ringshift
