#include "server/file_reload.h"

#include <utility>

#include "server/log.h"
#include "server/topology_file.h"

namespace ringshift {

std::string FileReload::Known() const {
  const absl::MutexLock lock(&mutex_);
  if (waiting_) return waiting_->checksum;
  return running_.empty() ? topology_.status().checksum : running_;
}

void FileReload::TakeUp(std::string bytes) {
  Contents contents{std::move(bytes), ""};
  contents.checksum = TopologyChecksum(contents.bytes);
  {
    const absl::MutexLock lock(&mutex_);
    const bool is_queued = waiting_.has_value();
    waiting_ = std::move(contents);
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

void FileReload::Run() {
  Contents contents;
  {
    const absl::MutexLock lock(&mutex_);
    contents = *std::move(waiting_);
    waiting_.reset();
    running_ = contents.checksum;
  }
  // What becomes of it is in the status and in the log.
  if (topology_.status().checksum != contents.checksum) {
    topology_.ReloadBytes(contents.bytes, ReloadTrigger::kFile, "ringshiftd").IgnoreError();
  }
  const absl::MutexLock lock(&mutex_);
  running_.clear();
}

}  // namespace ringshift
