// Who gets a core first where there are not enough.
//
// Thread safety: thread-safe.
#ifndef RINGSHIFT_SERVER_LOW_PRIORITY_H_
#define RINGSHIFT_SERVER_LOW_PRIORITY_H_

namespace ringshift {

// Of work that takes long, behind calls.
inline constexpr int kNiceAfterCalls = 10;

// The calling thread, and those that it starts, take what cores have to spare, and a tenth of busy
// ones. Where the system refuses, it stays as it was: that costs latency of calls, and no call.
void TakeLowPriority();

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_LOW_PRIORITY_H_
