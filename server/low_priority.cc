#include "server/low_priority.h"

#include <sys/resource.h>
#include <unistd.h>

namespace ringshift {

void TakeLowPriority() {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceAfterCalls);
}

}  // namespace ringshift
