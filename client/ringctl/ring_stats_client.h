// The statistics of the rings that a router serves.
//
// Thread safety: pure function.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RING_STATS_CLIENT_H_
#define RINGSHIFT_CLIENT_RINGCTL_RING_STATS_CLIENT_H_

#include <grpcpp/support/status.h>

#include <string>

#include "client/ringctl/remote.h"
#include "client/ringctl/ring_report.h"

namespace ringshift {

// Asks the router, within the deadline of `remote`. DATA_LOSS for an answer that makes no sense.
grpc::Status GetRingStats(const Remote& remote, const std::string& data_center,
                          DataCenterReport& report);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RING_STATS_CLIENT_H_
