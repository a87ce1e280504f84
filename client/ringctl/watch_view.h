// Changes of migrations as they come, a line each.
#ifndef RINGSHIFT_CLIENT_RINGCTL_WATCH_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_WATCH_VIEW_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "client/ringctl/output.h"
#include "ringshift/v1/migration.pb.h"

namespace ringshift {

// Knows what it has shown, so that of a state that comes again only what is new is shown.
//
// Thread safety: thread-compatible.
class WatchView {
 public:
  explicit WatchView(bool as_json) : as_json_(as_json) {}

  // What comes next is the answer to another call: what came since the last cursor is dropped.
  void BeginCall() { pending_.Clear(); }

  // Once it is whole, which it is with its cursor, writes a line for each migration that is not as
  // it was shown last, and for each that is gone. `now` is the time of what no revision of the
  // store has made.
  void Add(const v1::WatchMigrationsResponse& response, absl::Time now, Output& output);

 private:
  void Show(absl::Time now, Output& output);
  void AddMigration(const v1::Migration& migration, absl::Time now, Output& output);
  void Remove(const std::string& data_center, absl::Time now, Output& output);

  const bool as_json_;
  v1::WatchMigrationsResponse pending_;         // what came since the last cursor
  std::map<std::string, v1::Migration> shown_;  // by data center, without what is measured
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_WATCH_VIEW_H_
