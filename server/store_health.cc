#include "server/store_health.h"

#include "server/log.h"

namespace ringshift {

void StoreHealth::Check() {
  absl::Status now = store_.Check();
  std::optional<std::string> stale = store_.Stale();
  const std::int64_t regressions = count_regressions_ ? count_regressions_() : 0;
  const bool up = now.ok();
  const std::string error(now.message());
  absl::Status before;
  std::int64_t regressions_before = 0;
  {
    const absl::MutexLock lock(&mutex_);
    before = std::exchange(status_, std::move(now));
    stale_ = std::move(stale);
    regressions_before = std::exchange(regressions_, regressions);
  }
  if (regressions > regressions_before) {
    LogWarn("the store went back to an older state, as a backup that is restored has it",
            {{"store", name_}, {"times", std::to_string(regressions - regressions_before)}});
  }
  if (before.ok() && !up) {
    LogError("the store is down: routing goes on, changes are refused",
             {{"store", name_}, {"error", error}});
  } else if (!before.ok() && up) {
    LogInfo("the store is up again", {{"store", name_}});
  }
}

std::optional<std::string> StoreHealth::stale() const {
  const absl::MutexLock lock(&mutex_);
  return stale_;
}

std::int64_t StoreHealth::regressions() const {
  const absl::MutexLock lock(&mutex_);
  return regressions_;
}

absl::Status StoreHealth::status() const {
  const absl::MutexLock lock(&mutex_);
  return status_;
}

}  // namespace ringshift
