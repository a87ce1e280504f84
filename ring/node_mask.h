// A set of nodes of one NodeSet, one bit a node: a pool, or the nodes that are eligible for a
// request.
//
// Thread safety: thread-compatible; const methods may be called from any thread while nobody
// writes.
#ifndef RINGSHIFT_RING_NODE_MASK_H_
#define RINGSHIFT_RING_NODE_MASK_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/node_set.h"

namespace ringshift {

class NodeMask {
 public:
  // A mask over `node_count` nodes, none of them in it.
  explicit NodeMask(std::size_t node_count)
      : size_(node_count), words_((node_count + 63) / 64, std::uint64_t{0}) {}

  // A mask with all of `node_count` nodes in it.
  static NodeMask All(std::size_t node_count) {
    NodeMask mask(node_count);
    for (NodeIndex node = 0; node < node_count; ++node) mask.Insert(node);
    return mask;
  }

  // REQUIRES: node < size()
  void Insert(NodeIndex node) {
    count_ += !Contains(node);
    words_[node / 64] |= std::uint64_t{1} << (node % 64);
  }
  void Erase(NodeIndex node) {
    count_ -= Contains(node);
    words_[node / 64] &= ~(std::uint64_t{1} << (node % 64));
  }
  // REQUIRES: size() == other.size()
  void Erase(const NodeMask& other) {
    count_ = 0;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      words_[i] &= ~other.words_[i];
      count_ += static_cast<std::size_t>(std::popcount(words_[i]));
    }
  }
  bool Contains(NodeIndex node) const { return (words_[node / 64] >> (node % 64)) & 1; }

  std::size_t size() const { return size_; }    // nodes it is over
  std::size_t count() const { return count_; }  // nodes in it

  // The nodes that are in both. REQUIRES: size() == other.size()
  NodeMask operator&(const NodeMask& other) const {
    NodeMask both(size_);
    for (std::size_t i = 0; i < words_.size(); ++i) {
      both.words_[i] = words_[i] & other.words_[i];
      both.count_ += static_cast<std::size_t>(std::popcount(both.words_[i]));
    }
    return both;
  }

  friend bool operator==(const NodeMask&, const NodeMask&) = default;

 private:
  std::size_t size_;
  std::size_t count_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_RING_NODE_MASK_H_
