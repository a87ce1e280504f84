// Some 100,000 of the keys of a data center that were routed last, each as often as it came: what
// the traffic is like, for forecasts.
//
//   const std::size_t writer = KeySample::NewWriter();   // one a thread that routes
//   sample.Add(writer, decision.seed(), pool, answers.size(), [&](auto i) { return answers[i]; });
//   std::vector<RoutedKey> keys = sample.Keys(decision.seed());   // any thread
//
// A thread takes a block of 1,024 places when its last one is full, the one that was taken the
// longest ago; so the sample is of the last blocks, whichever threads filled them. Once every block
// was taken, a thread lets three times as many keys pass before it takes another one: that costs
// less, and the sample is of a longer time.
//
// Thread safety: thread-safe, without locks. Relaxed atomics suffice: a key is a single word, and
// publishes nothing but itself. Where several threads have one writer's number, or one is so slow
// that its block is taken again, keys are lost, and no more. Cost: about a nanosecond a key, and
// half of one where many are added at once; 2 KB, and 8 KB more for each block that was ever taken,
// some 800 KB in all.
#ifndef RINGSHIFT_MIGRATION_KEY_SAMPLE_H_
#define RINGSHIFT_MIGRATION_KEY_SAMPLE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringshift {

struct RoutedKey {
  std::uint32_t position = 0;  // on the rings
  std::uint32_t bucket = 0;    // of the decision
  std::uint32_t pool = 0;      // by the caller's count

  friend auto operator<=>(const RoutedKey&, const RoutedKey&) = default;
};

class KeySample {
 public:
  static constexpr std::size_t kBlockKeys = 1024;
  static constexpr std::size_t kBlocks = 98;  // 100,352 keys
  static constexpr std::size_t kPassedKeys = 3 * kBlockKeys;
  // The keys of further pools are left out.
  static constexpr std::uint32_t kMaxPools = 1 << 12;

  KeySample() = default;
  ~KeySample();
  KeySample(const KeySample&) = delete;
  KeySample& operator=(const KeySample&) = delete;

  // A number for a thread, in all samples.
  static std::size_t NewWriter();

  // Adds `count` keys: `key_at(i)` has the `position` and the `bucket` of one, by the decision with
  // this `seed`.
  template <typename KeyAt>
  void Add(std::size_t writer, std::uint64_t seed, std::size_t pool, std::size_t count,
           KeyAt key_at);

  // Those of the decision with this `seed`, in no order.
  std::vector<RoutedKey> Keys(std::uint64_t seed) const;

 private:
  struct Block {
    std::atomic<std::uint64_t> seed{0};
    std::array<std::atomic<std::uint64_t>, kBlockKeys> keys{};  // 0: none
  };

  // Where a thread adds. On a cache line of its own.
  struct alignas(64) Writer {
    std::atomic<Block*> block{nullptr};
    std::atomic<std::uint64_t> seed{0};  // of the block
    std::atomic<std::size_t> keys{0};    // in it, and those that passed since it is full
  };
  static constexpr std::size_t kWriters = 16;

  // 32 bits of position, 12 of pool, 20 of bucket + 1.
  static std::uint64_t Pack(std::uint32_t position, std::size_t pool, std::uint32_t bucket) {
    return (std::uint64_t{position} << 32) | (std::uint64_t{pool} << 20) | (bucket + 1);
  }

  // Where Writer::keys ends, for the next block to be taken.
  std::size_t KeysOfABlock() const {
    const bool all_taken = taken_.load(std::memory_order_relaxed) >= kBlocks;
    return all_taken ? kBlockKeys + kPassedKeys : kBlockKeys;
  }
  Block* TakeBlock(std::uint64_t seed);

  std::array<Writer, kWriters> writers_;
  std::array<std::atomic<Block*>, kBlocks> blocks_{};  // owned; null until it is taken
  std::atomic<std::size_t> taken_{0};                  // how often one was
};

template <typename KeyAt>
void KeySample::Add(std::size_t writer, std::uint64_t seed, std::size_t pool, std::size_t count,
                    KeyAt key_at) {
  if (pool >= kMaxPools) return;
  constexpr auto kRelaxed = std::memory_order_relaxed;
  Writer& own = writers_[writer % kWriters];
  for (std::size_t added = 0; added < count;) {
    Block* block = own.block.load(kRelaxed);
    std::size_t keys = own.keys.load(kRelaxed);
    if (block == nullptr || own.seed.load(kRelaxed) != seed ||
        (keys >= kBlockKeys && keys >= KeysOfABlock())) {
      block = TakeBlock(seed);
      keys = 0;
      own.block.store(block, kRelaxed);
      own.seed.store(seed, kRelaxed);
    }
    const std::size_t end = keys < kBlockKeys ? kBlockKeys : kBlockKeys + kPassedKeys;
    const std::size_t part = std::min(count - added, end - keys);
    if (keys < kBlockKeys) {
      for (std::size_t i = 0; i < part; ++i) {
        const auto& key = key_at(added + i);
        block->keys[keys + i].store(Pack(key.position, pool, key.bucket), kRelaxed);
      }
    }
    own.keys.store(keys + part, kRelaxed);
    added += part;
  }
}

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_KEY_SAMPLE_H_
