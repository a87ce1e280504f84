// `ringctl migration retire` and `restore`: a ring that no request can reach is dropped, and is
// built again.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RETIRE_RING_H_
#define RINGSHIFT_CLIENT_RINGCTL_RETIRE_RING_H_

#include <optional>
#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/selector.h"

namespace ringshift {

struct RetireRingOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  std::string ring;                    // "v1" or "v2"
  std::optional<std::string> min_age;  // as CheckAge takes it; none: the router's default
  std::string reason;
  bool yes = false;
  bool json = false;
};

// What is wrong with an age, "" if nothing is: "0s", "90s", "1h".
std::string CheckAge(const std::string& text);

ExitCode RetireRing(const RetireRingOptions& options);

struct RestoreRingOptions {
  RemoteOptions remote;
  SelectorOptions selector;
  std::string reason;
  bool json = false;
};

ExitCode RestoreRing(const RestoreRingOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RETIRE_RING_H_
