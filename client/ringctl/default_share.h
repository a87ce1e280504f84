// `ringctl migration get-default` and `set-default`: the share that new data centers start at.
#ifndef RINGSHIFT_CLIENT_RINGCTL_DEFAULT_SHARE_H_
#define RINGSHIFT_CLIENT_RINGCTL_DEFAULT_SHARE_H_

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"

namespace ringshift {

struct GetDefaultShareOptions {
  RemoteOptions remote;
  bool json = false;
};

ExitCode GetDefaultShare(const GetDefaultShareOptions& options);

struct SetDefaultShareOptions {
  RemoteOptions remote;
  std::string percent;  // as CheckPercent takes it
  std::string reason;
  bool yes = false;
  bool json = false;
};

// Shows the share as it is and as it will be, asks, and has it changed.
ExitCode SetDefaultShare(const SetDefaultShareOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_DEFAULT_SHARE_H_
