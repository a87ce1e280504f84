// Whether the store works, as of the last check.
//
// Thread safety: thread-safe; a reader never waits for the store.
#ifndef RINGSHIFT_SERVER_STORE_HEALTH_H_
#define RINGSHIFT_SERVER_STORE_HEALTH_H_

#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "migration/store.h"

namespace ringshift {

class StoreHealth {
 public:
  // `name` is the store's, for people ("sqlite:PATH"). `store` outlives this object.
  StoreHealth(std::string name, bool was_created, MigrationStore& store)
      : name_(std::move(name)), was_created_(was_created), store_(store) {}

  const std::string& name() const { return name_; }
  // This start of the router made the store.
  bool was_created() const { return was_created_; }

  // Runs MigrationStore::Check; it waits for the store. A change between up and down is logged.
  void Check();

  // OK, or why the store is not up.
  absl::Status status() const;

 private:
  const std::string name_;
  const bool was_created_;
  MigrationStore& store_;
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_STORE_HEALTH_H_
