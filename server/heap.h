// What becomes of memory that was freed.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_HEAP_H_
#define RINGSHIFT_SERVER_HEAP_H_

namespace ringshift {

// From now on, pieces of a MiB and more are the system's again when they are freed: large rings.
// glibc alone would keep more and more of them, the larger those are that it has seen.
void ReturnLargePiecesWhenFreed();

// Gives the free pages between smaller pieces back: small rings leave them. Cost: a pass over what
// is free, in which those who allocate from the same part of the heap wait.
void ReturnFreePages();

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_HEAP_H_
