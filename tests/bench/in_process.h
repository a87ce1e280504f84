// What an answer costs without a server, by Google Benchmark.
#ifndef RINGSHIFT_TESTS_BENCH_IN_PROCESS_H_
#define RINGSHIFT_TESTS_BENCH_IN_PROCESS_H_

#include <string>

#include "absl/status/status.h"
#include "routing/routing_table.h"
#include "tests/bench/figures.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {

// Checks every owner, then adds `route_ns_NAME` and `batch_key_ns_NAME`: CPU nanoseconds a key of
// Route, and of BatchRouter in batches of 1,000. `seconds` is how long one repetition takes.
// INTERNAL if an owner is wrong.
absl::Status MeasureInProcess(const std::string& name, const RoutingTable& table,
                              const Workload& workload, double seconds, Figures& figures);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_IN_PROCESS_H_
