// `ringctl topology reload` and `accept`: have a router take up its topology file.
#ifndef RINGSHIFT_CLIENT_RINGCTL_CHANGE_TOPOLOGY_H_
#define RINGSHIFT_CLIENT_RINGCTL_CHANGE_TOPOLOGY_H_

#include <string>
#include <vector>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/remote.h"

namespace ringshift {

struct ReloadTopologyOptions {
  RemoteOptions remote;
  bool json = false;
};

// kOk if all of the file serves; kDeclined if something is held, and says how to accept it;
// kRefused if the file was refused, or if a data center could not be changed.
ExitCode ReloadTopology(const ReloadTopologyOptions& options);

struct AcceptTopologyOptions {
  RemoteOptions remote;
  std::string checksum;
  std::vector<std::string> data_centers;  // empty means all that are held
  std::string reason;
  bool yes = false;
  bool json = false;
};

// Shows what is held, asks, and has the router take it up.
ExitCode AcceptTopology(const AcceptTopologyOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_CHANGE_TOPOLOGY_H_
