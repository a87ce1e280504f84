// A checksum over a sequence of numbers and texts: different sequences are different bytes.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_ROUTING_INTERNAL_CHECKSUM_H_
#define RINGSHIFT_ROUTING_INTERNAL_CHECKSUM_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace ringshift::internal {

// Compared between routers, of other versions and machines too: the rule is frozen. A number is
// eight bytes, the lowest first; a text is its length as a number, then its bytes.
class Checksum {
 public:
  void Add(std::uint64_t number);
  void Add(std::string_view text);

  // XXH3_64bits of what was added.
  std::uint64_t Value() const;

 private:
  std::string bytes_;
};

}  // namespace ringshift::internal

#endif  // RINGSHIFT_ROUTING_INTERNAL_CHECKSUM_H_
