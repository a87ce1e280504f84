// Writes numbers of some bits each, the lowest bit first, one behind the other.
//
// Thread safety: thread-compatible. Neighbouring parts of one memory may be written on different
// threads at the same time: bytes that have bits of two parts are left to the caller.
#ifndef RINGSHIFT_RING_INTERNAL_BIT_WRITER_H_
#define RINGSHIFT_RING_INTERNAL_BIT_WRITER_H_

#include <bit>
#include <cstdint>
#include <cstring>

namespace ringshift::internal {

class BitWriter {
 public:
  // Begins at bit `begin` of the memory.
  BitWriter(unsigned char* memory, std::uint64_t begin)
      : next_(memory + begin / 8), used_(static_cast<int>(begin % 8)), has_first_(used_ != 0) {}

  // REQUIRES: bits is 0 to 32, and value below 2^bits
  void Write(std::uint64_t value, int bits) {
    pending_ |= value << used_;
    used_ += bits;
    if (used_ >= 32) Flush();
  }

  // The bits of the first and of the last byte, the others 0, where these have bits of another part
  // too; else 0. Where all is within one byte that begins with another part, it is the first.
  struct Edges {
    unsigned char first = 0;
    unsigned char last = 0;
  };
  // Writes what is left but the edges. Call it once, at the end.
  Edges Finish() {
    while (used_ >= 8 || (used_ > 0 && has_first_)) WriteByte(), used_ -= 8;
    if (used_ > 0) edges_.last = static_cast<unsigned char>(pending_);
    return edges_;
  }

 private:
  void Flush() {
    if (has_first_) [[unlikely]] {
      for (int i = 0; i < 4; ++i) WriteByte();
    } else {
      auto word = static_cast<std::uint32_t>(pending_);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap32(word);
      std::memcpy(next_, &word, sizeof word);
      next_ += sizeof word;
      pending_ >>= 32;
    }
    used_ -= 32;
  }
  void WriteByte() {
    const auto byte = static_cast<unsigned char>(pending_);
    if (has_first_) {
      edges_.first = byte;
      has_first_ = false;
    } else {
      *next_ = byte;
    }
    ++next_;
    pending_ >>= 8;
  }

  unsigned char* next_;
  std::uint64_t pending_ = 0;  // the lowest `used_` bits are still to be written
  int used_;
  bool has_first_;  // the next byte is the first, and has bits of the part before
  Edges edges_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_BIT_WRITER_H_
