#include "server/heap.h"

#include <cstdlib>  // says whether this is glibc

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace ringshift {

void ReturnLargePiecesWhenFreed() {
#ifdef __GLIBC__
  ::mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

void ReturnFreePages() {
#ifdef __GLIBC__
  ::malloc_trim(0);
#endif
}

}  // namespace ringshift
