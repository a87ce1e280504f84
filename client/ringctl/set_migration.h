// `ringctl migration set`: shows what another share would do, has it confirmed, and sets it.
#ifndef RINGSHIFT_CLIENT_RINGCTL_SET_MIGRATION_H_
#define RINGSHIFT_CLIENT_RINGCTL_SET_MIGRATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/selector.h"

namespace ringshift {

struct SetMigrationOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  std::string percent;                        // as CheckPercent takes it
  std::optional<std::string> max_churn;       // likewise
  std::optional<std::string> hit_ratio;       // as CheckRatio takes it
  std::optional<std::int64_t> base_revision;  // --expect-revision
  std::string reason;
  bool accept_imbalance = false;
  bool dry_run = false;
  bool yes = false;
  bool json = false;
};

ExitCode SetMigration(const SetMigrationOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_SET_MIGRATION_H_
