#include "migration/key_sample.h"

#include <memory>

namespace ringshift {

KeySample::~KeySample() {
  for (std::atomic<Block*>& block : blocks_) delete block.load(std::memory_order_relaxed);
}

std::size_t KeySample::NewWriter() {
  static std::atomic<std::size_t> writers{0};
  return writers.fetch_add(1, std::memory_order_relaxed);
}

KeySample::Block* KeySample::TakeBlock(std::uint64_t seed) {
  std::atomic<Block*>& place = blocks_[taken_.fetch_add(1, std::memory_order_relaxed) % kBlocks];
  Block* block = place.load(std::memory_order_acquire);
  if (block == nullptr) {
    auto made = std::make_unique<Block>();
    // Another thread may have come around to it.
    if (place.compare_exchange_strong(block, made.get(), std::memory_order_acq_rel)) {
      block = made.release();
    }
  }
  if (block->seed.load(std::memory_order_relaxed) != seed) {
    for (std::atomic<std::uint64_t>& key : block->keys) key.store(0, std::memory_order_relaxed);
    // Whoever sees the seed sees no key of another one.
    block->seed.store(seed, std::memory_order_release);
  }
  return block;
}

std::vector<RoutedKey> KeySample::Keys(std::uint64_t seed) const {
  std::vector<RoutedKey> keys;
  for (const std::atomic<Block*>& place : blocks_) {
    const Block* const block = place.load(std::memory_order_acquire);
    if (block == nullptr || block->seed.load(std::memory_order_acquire) != seed) continue;
    for (const std::atomic<std::uint64_t>& key : block->keys) {
      const std::uint64_t packed = key.load(std::memory_order_relaxed);
      if (packed == 0) continue;
      keys.push_back({static_cast<std::uint32_t>(packed >> 32),
                      static_cast<std::uint32_t>(packed & 0xFFFFF) - 1,
                      static_cast<std::uint32_t>((packed >> 20) & 0xFFF)});
    }
  }
  return keys;
}

}  // namespace ringshift
