// Memory that is large and read all over.
#ifndef RINGSHIFT_RING_INTERNAL_HUGE_PAGES_H_
#define RINGSHIFT_RING_INTERNAL_HUGE_PAGES_H_

#include <cstddef>

namespace ringshift::internal {

// Has the system back the memory by huge pages, where they fit into it and the system can: with
// small ones a lookup waits for page tables as well as for points. It takes no more memory than
// without, once all of it is written. Call it before that.
//
// Thread safety: thread-safe.
void PreferHugePages(void* memory, std::size_t bytes);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_RING_INTERNAL_HUGE_PAGES_H_
