// `ringctl migration set`: shows a change of a share, has it confirmed, and makes it.
#ifndef RINGSHIFT_CLIENT_RINGCTL_SET_MIGRATION_H_
#define RINGSHIFT_CLIENT_RINGCTL_SET_MIGRATION_H_

#include <cstdint>
#include <optional>
#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"

namespace ringshift {

struct SetMigrationOptions {
  RemoteOptions remote;
  std::string data_center;
  std::string percent;  // as CheckPercent takes it
  std::string reason;
  std::optional<std::int64_t> expected_revision;
  bool yes = false;
  bool json = false;
};

ExitCode SetMigration(const SetMigrationOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_SET_MIGRATION_H_
