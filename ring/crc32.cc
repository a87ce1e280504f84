#include "ring/crc32.h"

#include <bit>
#include <cstring>

namespace ringshift {
namespace internal {
namespace {

constexpr std::array<std::array<std::uint32_t, 256>, 8> MakeTables() {
  std::array<std::array<std::uint32_t, 256>, 8> tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t state = byte;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) ? 0xEDB88320u : 0u);
    tables[0][byte] = state;
  }
  for (std::size_t zeros = 1; zeros < tables.size(); ++zeros) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = tables[zeros - 1][byte];
      tables[zeros][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
  return tables;
}

std::uint64_t LoadLittleEndian(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

// The register after the eight bytes of `word`, from 0, through eight tables: M. Kounavis and
// F. Berry, "A Systematic Approach to Building High Performance Software-Based CRC Generators",
// 2005.
std::uint32_t OfWord(std::uint64_t word) {
  const auto& t = kCrc32Tables;
  const auto a = static_cast<std::uint32_t>(word);
  const auto b = static_cast<std::uint32_t>(word >> 32);
  return t[7][a & 0xFF] ^ t[6][(a >> 8) & 0xFF] ^ t[5][(a >> 16) & 0xFF] ^ t[4][a >> 24] ^
         t[3][b & 0xFF] ^ t[2][(b >> 8) & 0xFF] ^ t[1][(b >> 16) & 0xFF] ^ t[0][b >> 24];
}

}  // namespace

constinit const std::array<std::array<std::uint32_t, 256>, 8> kCrc32Tables = MakeTables();

std::uint32_t Crc32Extend(std::uint32_t state, std::string_view bytes) {
  const char* next = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= 8; left -= 8, next += 8) state = OfWord(LoadLittleEndian(next) ^ state);
  if (left > 0 && bytes.size() >= 8) {
    // The rest at once, behind zeros, which leave a register of 0 as it is.
    const std::size_t rest_bits = 8 * left;
    const std::size_t zero_bits = 64 - rest_bits;
    const std::uint64_t rest = LoadLittleEndian(next + left - 8) >> zero_bits;
    return OfWord((rest ^ state) << zero_bits) ^
           static_cast<std::uint32_t>(std::uint64_t{state} >> rest_bits);
  }
  for (; left > 0; --left, ++next) {
    state = (state >> 8) ^ kCrc32Tables[0][(state ^ static_cast<unsigned char>(*next)) & 0xFF];
  }
  return state;
}

}  // namespace internal

std::uint32_t Crc32(std::string_view bytes) { return ~internal::Crc32Extend(0xFFFFFFFF, bytes); }

}  // namespace ringshift
