#include "server/file_reload.h"

#include <utility>

#include "server/log.h"
#include "server/topology_file.h"

namespace ringshift {

std::string FileReload::Known() const {
  const absl::MutexLock lock(&mutex_);
  if (waiting_) return waiting_->checksum;
  return running_ ? *running_ : topology_.status().checksum;
}

void FileReload::TakeUp(absl::StatusOr<std::string> bytes) {
  std::string checksum = bytes.ok() ? TopologyChecksum(*bytes) : "";
  Contents contents{std::move(bytes), std::move(checksum)};
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

FileReload::Contents FileReload::StartWaiting() {
  const absl::MutexLock lock(&mutex_);
  Contents contents = *std::move(waiting_);
  waiting_.reset();
  running_ = contents.checksum;
  return contents;
}

void FileReload::Run() {
  const Contents contents = StartWaiting();
  // What becomes of it is in the status and in the log.
  if (topology_.status().checksum != contents.checksum) {
    topology_.ReloadBytes(contents.bytes, ReloadTrigger::kFile, "ringshiftd").IgnoreError();
  }
  const absl::MutexLock lock(&mutex_);
  running_.reset();
}

}  // namespace ringshift
