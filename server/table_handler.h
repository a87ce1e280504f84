// Answers routing calls from the routing tables, and counts them.
//
// Thread safety: one thread uses it, as it does any RoutingHandler; any number of handlers share
// the directory and the metrics without waiting for each other.
#ifndef RINGSHIFT_SERVER_TABLE_HANDLER_H_
#define RINGSHIFT_SERVER_TABLE_HANDLER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "routing/route_batch.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/route_metrics.h"
#include "server/routing_handler.h"

namespace ringshift {

class TableHandler final : public RoutingHandler {
 public:
  // All three outlive this object. Without metrics nothing is counted.
  TableHandler(const Lifecycle& lifecycle, RoutingDirectory& directory, RouteMetrics* metrics);

  absl::Status Route(const v1::RouteRequest& request, Time arrival,
                     v1::RouteResponse& response) override;
  void StartBatch(const v1::RouteBatchRequest& request, Time arrival,
                  v1::RouteBatchResponse& response) override;
  std::optional<absl::Status> ContinueBatch() override;
  void CountRefused(absl::StatusCode code) override;

 private:
  // Keys that are answered at one go, some 20 to 50 us; fewer in a pool of few nodes, where the
  // walk of a key is longer.
  static constexpr std::size_t kSliceKeys = 1024;

  // The batch under way.
  struct Batch {
    const v1::RouteBatchRequest* request = nullptr;
    v1::RouteBatchResponse* response = nullptr;
    Time arrival;
    std::shared_ptr<const RoutingTable> table;  // of all keys; null before the first slice
    std::optional<BatchRouter> router;
    std::size_t slice_keys = kSliceKeys;
    std::size_t answered = 0;  // keys
    std::size_t by_v2 = 0;     // of them
    // The owners so far, in the order of response->nodes().
    std::vector<NodeIndex> nodes;
  };

  absl::Status Answer(const v1::RouteRequest& request, v1::RouteResponse& response) const;

  std::size_t KeyCount() const { return static_cast<std::size_t>(batch_.request->keys_size()); }
  // Checks what does not depend on the keys.
  absl::Status TakeTable();
  absl::Status AnswerSlice();
  void EndBatch(const absl::Status& status);

  void CountRoutes(const RoutingTable& table, std::size_t pool, RingVersion version,
                   std::size_t keys) const;
  // REQUIRES, as Observe: there are metrics.
  void CountErrors(const std::string& data_center, absl::StatusCode code, std::size_t keys) const;
  void Observe(RoutingMethod method, Time arrival) const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
  const std::unique_ptr<RoutingDirectory::Reader> tables_;
  RouteMetrics* const metrics_;
  const std::unique_ptr<RouteMetrics::Reader> counters_;  // null without metrics

  Batch batch_;
  // By NodeIndex, the place in batch_.nodes; kNoPlace for a node that is not there. Between batches
  // all of them are kNoPlace.
  static constexpr std::int32_t kNoPlace = -1;
  std::vector<std::int32_t> places_;
  std::array<std::string_view, kSliceKeys> keys_;
  std::array<BatchAnswer, kSliceKeys> answers_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TABLE_HANDLER_H_
