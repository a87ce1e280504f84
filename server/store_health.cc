#include "server/store_health.h"

#include "server/log.h"

namespace ringshift {

void StoreHealth::Check() {
  absl::Status now = store_.Check();
  const bool up = now.ok();
  const std::string error(now.message());
  absl::Status before;
  {
    const absl::MutexLock lock(&mutex_);
    before = std::exchange(status_, std::move(now));
  }
  if (before.ok() && !up) {
    LogError("the store is down: routing goes on, changes are refused",
             {{"store", name_}, {"error", error}});
  } else if (!before.ok() && up) {
    LogInfo("the store is up again", {{"store", name_}});
  }
}

absl::Status StoreHealth::status() const {
  const absl::MutexLock lock(&mutex_);
  return status_;
}

}  // namespace ringshift
