#include "server/sharded_counters.h"

#include <algorithm>
#include <thread>

namespace ringshift {

ShardedCounters::ShardedCounters(std::size_t size)
    : lines_per_row_((size + kCellsPerLine - 1) / kCellsPerLine),
      lines_(RowCount() * lines_per_row_) {}

std::uint64_t ShardedCounters::Sum(std::size_t index) const {
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < RowCount(); ++row) {
    const Line& line = lines_[row * lines_per_row_ + index / kCellsPerLine];
    sum += line.cells[index % kCellsPerLine].load(std::memory_order_relaxed);
  }
  return sum;
}

// Twice the cores: the server's threads are about as many as the cores, but come and go.
std::size_t ShardedCounters::RowCount() {
  static const std::size_t count =
      std::clamp<std::size_t>(2 * std::thread::hardware_concurrency(), 4, 64);
  return count;
}

std::size_t ShardedCounters::ThisThreadsRow() {
  static std::atomic<std::size_t> threads_seen{0};
  thread_local const std::size_t row =
      threads_seen.fetch_add(1, std::memory_order_relaxed) % RowCount();
  return row;
}

}  // namespace ringshift
