#include "server/heap.h"

#include <cstdlib>  // says whether this is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ringshift {

void ReturnLargePiecesWhenFreed() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
  // As much as pieces of the heap can be: with the 128 KiB that it would be, a change of a share or
  // a batch gives pages back, interrupts all cores for it, and takes them again.
  ::mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}

void ReturnFreePages() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace ringshift
