// Whether the store works, as of the last check.
//
// Thread safety: thread-safe; a reader never waits for the store.
#ifndef RINGSHIFT_SERVER_STORE_HEALTH_H_
#define RINGSHIFT_SERVER_STORE_HEALTH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "migration/store.h"

namespace ringshift {

class StoreHealth {
 public:
  // How often the store went back to an older state. Null: it cannot.
  using RegressionCount = std::function<std::int64_t()>;

  // `name` is the store's, for people ("sqlite:PATH"). `store` outlives this object.
  StoreHealth(std::string name, bool was_created, MigrationStore& store,
              RegressionCount regressions = nullptr)
      : name_(std::move(name)),
        was_created_(was_created),
        store_(store),
        count_regressions_(std::move(regressions)),
        stale_(store.Stale()) {}

  const std::string& name() const { return name_; }
  // This start of the router made the store.
  bool was_created() const { return was_created_; }

  // Runs MigrationStore::Check; it waits for the store. A change between up and down is logged.
  void Check();

  // OK, or why the store is not up.
  absl::Status status() const;
  // Why what the router knows of the store may be old; none if it is not.
  std::optional<std::string> stale() const;
  // How often the store went back to an older state.
  std::int64_t regressions() const;

 private:
  const std::string name_;
  const bool was_created_;
  MigrationStore& store_;
  const RegressionCount count_regressions_;
  mutable absl::Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
  std::optional<std::string> stale_ ABSL_GUARDED_BY(mutex_);
  std::int64_t regressions_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_STORE_HEALTH_H_
