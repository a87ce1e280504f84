// A fixed set of counters that many threads add to at once: a row of them for each few threads, on
// cache lines of its own, summed when read.
//
// Thread safety: thread-safe. Relaxed atomics suffice: a counter publishes nothing but itself, and
// a sum that misses an addition of this instant has it the next time. Cost: an addition that shares
// no cache line with another thread's, while there are no more threads than rows; a sum reads one
// cell a row.
#ifndef RINGSHIFT_SERVER_SHARDED_COUNTERS_H_
#define RINGSHIFT_SERVER_SHARDED_COUNTERS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ringshift {

class ShardedCounters {
 public:
  // `size` counters, all 0.
  explicit ShardedCounters(std::size_t size);

  // REQUIRES: index < size
  void Add(std::size_t index, std::uint64_t amount) {
    cell(ThisThreadsRow(), index).fetch_add(amount, std::memory_order_relaxed);
  }
  std::uint64_t Sum(std::size_t index) const;

 private:
  using Cell = std::atomic<std::uint64_t>;
  static constexpr std::size_t kCellsPerLine = 64 / sizeof(Cell);
  struct alignas(64) Line {
    Cell cells[kCellsPerLine]{};
  };

  static std::size_t RowCount();
  static std::size_t ThisThreadsRow();

  Cell& cell(std::size_t row, std::size_t index) {
    return lines_[row * lines_per_row_ + index / kCellsPerLine].cells[index % kCellsPerLine];
  }

  const std::size_t lines_per_row_;
  std::vector<Line> lines_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_SHARDED_COUNTERS_H_
