#include "server/file_reload.h"

#include <utility>

#include "server/log.h"

namespace ringshift {

std::string FileReload::Known() const {
  const absl::MutexLock lock(&mutex_);
  if (waiting_) return *waiting_;
  return running_ ? *running_ : topology_.status().checksum;
}

void FileReload::TakeUp(std::string checksum) {
  {
    const absl::MutexLock lock(&mutex_);
    const bool is_queued = waiting_.has_value();
    waiting_ = std::move(checksum);
    if (is_queued) return;
  }
  queue_.Add({[] { return true; },
              [this]() -> WorkQueue::Deliver {
                Run();
                return [] {};
              },
              [this](const absl::Status& status) {
                if (!absl::IsUnavailable(status)) {  // else the router stops
                  LogWarn("the changed topology file is not taken up now",
                          {{"error", std::string(status.message())}});
                }
                const absl::MutexLock lock(&mutex_);
                waiting_.reset();
              }});
}

std::string FileReload::StartWaiting() {
  const absl::MutexLock lock(&mutex_);
  running_ = std::exchange(waiting_, std::nullopt);
  return *running_;
}

void FileReload::Run() {
  const std::string checksum = StartWaiting();
  if (topology_.status().checksum != checksum) {
    topology_.ReloadIfHolding(checksum, ReloadTrigger::kFile, "ringshiftd");
  }
  const absl::MutexLock lock(&mutex_);
  running_.reset();
}

}  // namespace ringshift
