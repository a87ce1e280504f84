// What of protobuf's wire format the routing calls need.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_WIRE_FORMAT_H_
#define RINGSHIFT_SERVER_WIRE_FORMAT_H_

#include <cstdint>

namespace ringshift {

// The wire types in use.
inline constexpr int kWireVarint = 0;
inline constexpr int kWireFixed64 = 1;
inline constexpr int kWireBytes =
    2;  // a length and so many bytes: bytes, strings, messages, packed numbers

// The tag of a field, which is one byte. REQUIRES: field is 1 to 15
constexpr std::uint8_t WireTag(int field, int wire_type) {
  return static_cast<std::uint8_t>(field << 3 | wire_type);
}

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WIRE_FORMAT_H_
