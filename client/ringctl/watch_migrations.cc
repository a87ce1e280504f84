#include "client/ringctl/watch_migrations.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "client/ringctl/interrupt.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/output.h"
#include "client/ringctl/watch_view.h"

namespace ringshift {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(250);
constexpr absl::Duration kLongestPause = absl::Seconds(1);

}  // namespace

ExitCode WatchMigrations(const WatchMigrationsOptions& options) {
  // What was written went out line by line, so there is nothing to do at the end.
  const Interrupt interrupt([] {});
  const Remote remote(options.remote);
  grpc::Status status = remote.WaitUntilConnected();
  if (!status.ok()) return remote.FailCall(status);
  MigrationClient client(remote);
  WatchView view(options.json);
  Output output(STDOUT_FILENO);
  v1::WatchMigrationsRequest request;
  bool has_come = false;
  int failures = 0;  // in a row
  absl::Duration pause = kFirstPause;
  while (true) {
    view.BeginCall();
    status = client.Watch(request, [&](const v1::WatchMigrationsResponse& response) {
      if (failures > 1) Warn(absl::StrCat(remote.server(), " is there again"));
      has_come = true;
      failures = 0;
      pause = kFirstPause;
      if (!response.cursor().empty()) request.set_cursor(response.cursor());
      view.Add(response, absl::Now(), output);
      output.Flush();
      return output.ok();
    });
    if (!output.ok()) return output.Finish();
    // A call that has lasted for a while may end without an error.
    if (!status.ok() && (!has_come || !Remote::MayPass(status))) return remote.FailCall(status);
    // Routers end calls from time to time: that is not worth a word.
    if (++failures == 2) {
      Warn(
          absl::StrCat(status.ok() ? remote.server() + " ends every call" : remote.Describe(status),
                       "; trying again until it is there"));
    }
    absl::SleepFor(pause);
    pause = std::min(2 * pause, kLongestPause);
  }
}

}  // namespace ringshift
