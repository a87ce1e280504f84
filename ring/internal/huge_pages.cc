#include "ring/internal/huge_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace ringshift::internal {

void PreferHugePages([[maybe_unused]] void* memory, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  // With the page that a large allocation begins in, which is its own.
  const std::uintptr_t first = begin / page * page;
  const std::uintptr_t end = (begin + bytes) / page * page;
  // A system that cannot does without.
  if (first < end) ::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
}

}  // namespace ringshift::internal
