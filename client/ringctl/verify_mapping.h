// Holds a list of keys and owners, as another system has them, against a ring.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_VERIFY_MAPPING_H_
#define RINGSHIFT_CLIENT_RINGCTL_VERIFY_MAPPING_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>

#include "client/ringctl/offline.h"
#include "ring/ring.h"

namespace ringshift {

class MappingVerifier {
 public:
  // Both outlive this object. REQUIRES: `ring` is of data_center.nodes
  MappingVerifier(const OfflineDataCenter& data_center, const Ring& ring);

  struct Verdict {
    bool same = false;
    NodeIndex found = 0;  // the owner on the ring
    // Only where it is not the same: several nodes have a point on the hash that decides, so that a
    // rule for ties decided between them.
    bool tied = false;
  };
  // `expected` is the name or the address of a node, as the topology has it.
  Verdict Verify(std::string_view key, const std::string& expected);

  std::uint64_t keys() const { return keys_; }
  std::uint64_t different() const { return different_; }
  std::uint64_t different_tied() const { return different_tied_; }
  // Owners that were expected and that are no node's name or address, and for how many keys.
  const std::map<std::string, std::uint64_t>& unknown_owners() const { return unknown_owners_; }

 private:
  const OfflineDataCenter& data_center_;
  const Ring& ring_;
  std::unordered_set<std::string_view> known_owners_;
  std::uint64_t keys_ = 0;
  std::uint64_t different_ = 0;
  std::uint64_t different_tied_ = 0;
  std::map<std::string, std::uint64_t> unknown_owners_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_VERIFY_MAPPING_H_
