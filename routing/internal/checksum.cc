#include "routing/internal/checksum.h"

#include <xxhash.h>

namespace ringshift::internal {

void Checksum::Add(std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) {
    bytes_ += static_cast<char>((number >> shift) & 0xFF);
  }
}

void Checksum::Add(std::string_view text) {
  Add(std::uint64_t{text.size()});
  bytes_ += text;
}

std::uint64_t Checksum::Value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

}  // namespace ringshift::internal
