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
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "migration/key_sample.h"
#include "routing/route_batch.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/route_metrics.h"
#include "server/routing_handler.h"
#include "server/wire_requests.h"
#include "server/wire_responses.h"

namespace ringshift {

class TableHandler final : public RoutingHandler {
 public:
  // All three outlive this object. Without metrics nothing is counted.
  TableHandler(const Lifecycle& lifecycle, RoutingDirectory& directory, RouteMetrics* metrics);

  absl::Status Route(const grpc::ByteBuffer& request, Time arrival,
                     grpc::ByteBuffer& response) override;
  void StartBatch(const grpc::ByteBuffer& request, Time arrival) override;
  std::optional<absl::Status> ContinueBatch(grpc::ByteBuffer& response) override;
  void CountRefused(absl::StatusCode code) override;

 private:
  // Keys that are answered at one go, some 5 to 10 us; fewer in a pool of few nodes, where the walk
  // of a key is longer.
  static constexpr std::size_t kSliceKeys = 256;

  // The batch under way.
  struct Batch {
    const grpc::ByteBuffer* request = nullptr;  // until it is read
    Time arrival;
    std::shared_ptr<const RoutingTable> table;  // of all keys; null before the first slice
    std::optional<BatchRouter> router;
    std::size_t slice_keys = kSliceKeys;
    std::size_t answered = 0;  // keys
    std::size_t by_v2 = 0;     // of them
    // The owners and previous owners so far, in the order of the response's nodes.
    std::vector<NodeIndex> nodes;
  };

  // Of a call that is no request, and is counted as refused.
  absl::Status Unreadable(const char* message_name) const;

  // Answers what route_reader_ has read.
  absl::Status Answer(grpc::ByteBuffer& response);

  // Checks what does not depend on the keys.
  absl::Status TakeTable();
  absl::Status AnswerSlice();
  // Of a node in the response's nodes.
  std::int32_t PlaceOf(NodeIndex node) {
    const std::int32_t place = places_[node];
    return place == kNoPlace ? AddNode(node) : place;
  }
  std::int32_t AddNode(NodeIndex node);
  void EndBatch(const absl::Status& status, grpc::ByteBuffer& response);

  // Has `counting` count with the counters of the table's data center, if it has any.
  template <typename Counting>
  void Count(const RoutingTable& table, Counting counting) const;
  // REQUIRES, as Observe: there are metrics.
  void CountErrors(std::string_view data_center, absl::StatusCode code, std::size_t keys) const;
  void Observe(RoutingMethod method, Time arrival) const;

  const Lifecycle& lifecycle_;
  const RoutingDirectory& directory_;
  const std::unique_ptr<RoutingDirectory::Reader> tables_;
  RouteMetrics* const metrics_;
  const std::unique_ptr<RouteMetrics::Reader> counters_;  // null without metrics
  const std::size_t sample_writer_ = KeySample::NewWriter();

  RouteRequestReader route_reader_;
  RouteResponseWriter route_writer_;
  BatchRequestReader batch_reader_;
  BatchResponseWriter batch_writer_;
  Batch batch_;
  // By NodeIndex, the place in batch_.nodes; kNoPlace for a node that is not there. Between batches
  // all of them are kNoPlace.
  static constexpr std::int32_t kNoPlace = -1;
  std::vector<std::int32_t> places_;
  std::array<BatchAnswer, kSliceKeys> answers_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TABLE_HANDLER_H_
