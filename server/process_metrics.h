// The standard process_* metrics.
//
// Thread safety: thread-safe. Cost: a few reads of /proc, for a scrape.
#ifndef RINGSHIFT_SERVER_PROCESS_METRICS_H_
#define RINGSHIFT_SERVER_PROCESS_METRICS_H_

#include "server/metric_family.h"

namespace ringshift {

// Appends CPU time, memory, file descriptors and start time of this process; what the system does
// not tell is left out.
void CollectProcessMetrics(MetricFamilies& families);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_PROCESS_METRICS_H_
