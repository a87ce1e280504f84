// `ringctl migration override` and `clear`: a share of one router alone.
#ifndef RINGSHIFT_CLIENT_RINGCTL_OVERRIDE_SHARE_H_
#define RINGSHIFT_CLIENT_RINGCTL_OVERRIDE_SHARE_H_

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/selector.h"

namespace ringshift {

struct OverrideShareOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  std::string percent;  // as CheckPercent takes it
  std::string reason;
  bool yes = false;
  bool json = false;
};

// Asks, and says on stderr that this is one router.
ExitCode OverrideShare(const OverrideShareOptions& options);

struct ClearOverrideOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  bool json = false;
};

ExitCode ClearOverride(const ClearOverrideOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_OVERRIDE_SHARE_H_
