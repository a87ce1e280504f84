// The calls of ReportOutcomes on a completion queue: each message is counted when it comes.
//
// Thread safety: End is thread-safe. The rest is for the thread that takes the events of the queue.
#ifndef RINGSHIFT_SERVER_OUTCOME_CALLS_H_
#define RINGSHIFT_SERVER_OUTCOME_CALLS_H_

#include <grpcpp/completion_queue.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>

#include "absl/status/statusor.h"
#include "ringshift/v1/routing.pb.h"
#include "server/lifecycle.h"
#include "server/outcome_counts.h"
#include "server/outcome_reporters.h"
#include "server/queue_bell.h"
#include "server/queue_calls.h"
#include "server/routing_service.h"

namespace ringshift {

// Counts all of a message, or nothing of it; returns how many requests that were.
//
// INVALID_ARGUMENT: more than kMaxOutcomes outcomes; or one without a data center, with a ring
// version or an outcome that is not given or not known, or a count outside 1 to kMaxOutcomeCount,
// with its index.
inline constexpr int kMaxOutcomes = 10'000;
inline constexpr std::int64_t kMaxOutcomeCount = 1'000'000'000;
absl::StatusOr<std::int64_t> CountOutcomes(const v1::ReportOutcomesRequest& report,
                                           OutcomeCounts& counts);

class OutcomeCalls final : public QueueCalls {
 public:
  // Streams that may be open; what comes beyond is refused with RESOURCE_EXHAUSTED.
  static constexpr std::size_t kMaxCalls = 4096;

  // All outlive this object. The server of `service` is gone before.
  OutcomeCalls(RoutingService& service, const Lifecycle& lifecycle,
               const OutcomeReporters& reporters, OutcomeCounts& counts,
               std::size_t max_calls = kMaxCalls);

  void Start(grpc::ServerCompletionQueue& queue) override;
  void Stop() override;

  // Ends every call with UNAVAILABLE, those that are still to come too. What has come in them is
  // counted.
  void End();

 private:
  class Call;

  void EndCalls();
  void Expect();

  RoutingService& service_;
  const Lifecycle& lifecycle_;
  const OutcomeReporters& reporters_;
  OutcomeCounts& counts_;
  const std::size_t max_calls_;
  grpc::ServerCompletionQueue* queue_ = nullptr;  // set by Start
  std::set<Call*> calls_;                         // those that report
  v1::ReportOutcomesRequest report_;              // used again
  std::atomic<bool> is_ending_{false};
  QueueBell bell_{[this] { EndCalls(); }};
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_OUTCOME_CALLS_H_
