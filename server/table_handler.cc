#include "server/table_handler.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "routing/route.h"
#include "server/routing_proto.h"

namespace ringshift {
namespace {

absl::Status CheckKeyCount(std::size_t keys) {
  if (keys >= 1 && keys <= kMaxBatchKeys) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::string_view("the batch has " + std::to_string(keys) +
                                                      " keys; it must have 1 to " +
                                                      std::to_string(kMaxBatchKeys)));
}

// `keys` times the part of the points that are of the pool's nodes, at least 1.
std::size_t SliceKeys(const DataCenter& data_center, std::size_t pool, std::size_t keys) {
  const NodeSet& nodes = data_center.node_set();
  const NodeMask& eligible = data_center.pools()[pool].nodes;
  if (eligible.count() == eligible.size()) return keys;
  std::uint64_t weight = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto node = static_cast<NodeIndex>(i);
    if (eligible.Contains(node)) weight += nodes[node].weight;
  }
  return std::max<std::size_t>(static_cast<std::size_t>(keys * weight / nodes.total_weight()), 1);
}

}  // namespace

TableHandler::TableHandler(const Lifecycle& lifecycle, RoutingDirectory& directory,
                           RouteMetrics* metrics)
    : lifecycle_(lifecycle),
      directory_(directory),
      tables_(directory.NewReader()),
      metrics_(metrics),
      counters_(metrics == nullptr ? nullptr : metrics->NewReader()) {}

absl::Status TableHandler::Route(const v1::RouteRequest& request, Time arrival,
                                 v1::RouteResponse& response) {
  const absl::Status status = Answer(request, response);
  if (metrics_ == nullptr) return status;
  if (!status.ok()) CountErrors(request.data_center(), status.code(), 1);
  Observe(RoutingMethod::kRoute, arrival);
  return status;
}

absl::Status TableHandler::Answer(const v1::RouteRequest& request,
                                  v1::RouteResponse& response) const {
  if (absl::Status ok = CheckCall(lifecycle_, request.data_center()); !ok.ok()) return ok;
  return tables_->Use(request.data_center(), [&](const RoutingTable* table) -> absl::Status {
    if (table == nullptr) return directory_.NotFound(request.data_center());
    const absl::StatusOr<RouteAnswer> answer =
        ringshift::Route(*table, {request.key(), request.pool(), request.replicas()});
    if (!answer.ok()) return answer.status();
    ToProto(*table, *answer, request.replicas(), response);
    CountRoutes(*table, answer->pool, answer->ring_version, 1);
    return absl::OkStatus();
  });
}

void TableHandler::StartBatch(const v1::RouteBatchRequest& request, Time arrival,
                              v1::RouteBatchResponse& response) {
  batch_.request = &request;
  batch_.response = &response;
  batch_.arrival = arrival;
  batch_.answered = 0;
  batch_.by_v2 = 0;
}

std::optional<absl::Status> TableHandler::ContinueBatch() {
  absl::Status status;
  if (batch_.table == nullptr) status = TakeTable();
  if (status.ok()) status = AnswerSlice();
  if (status.ok() && batch_.answered < KeyCount()) return std::nullopt;
  EndBatch(status);
  return status;
}

absl::Status TableHandler::TakeTable() {
  const v1::RouteBatchRequest& request = *batch_.request;
  if (absl::Status ok = CheckCall(lifecycle_, request.data_center()); !ok.ok()) return ok;
  if (absl::Status ok = CheckKeyCount(KeyCount()); !ok.ok()) return ok;
  std::shared_ptr<const RoutingTable> table = tables_->Find(request.data_center());
  if (table == nullptr) return directory_.NotFound(request.data_center());
  absl::StatusOr<BatchRouter> router = BatchRouter::Create(*table, request.pool());
  if (!router.ok()) return router.status();
  batch_.slice_keys = SliceKeys(table->data_center(), router->pool(), kSliceKeys);
  batch_.router.emplace(*router);
  batch_.table = std::move(table);

  const std::size_t node_count = batch_.table->data_center().node_set().size();
  if (places_.size() < node_count) places_.resize(node_count, kNoPlace);
  batch_.response->mutable_node_indexes()->Reserve(request.keys_size());
  batch_.response->mutable_ring_versions()->Reserve(request.keys_size());
  return absl::OkStatus();
}

absl::Status TableHandler::AnswerSlice() {
  const v1::RouteBatchRequest& request = *batch_.request;
  v1::RouteBatchResponse& response = *batch_.response;
  const std::size_t count = std::min(batch_.slice_keys, KeyCount() - batch_.answered);
  const auto keys = std::span(keys_).first(count);
  const auto answers = std::span(answers_).first(count);
  const int first = static_cast<int>(batch_.answered);  // at most kMaxBatchKeys
  for (std::size_t i = 0; i < count; ++i) keys[i] = request.keys(first + static_cast<int>(i));
  // A bad key further on refuses all the same: nothing is sent or counted before the end.
  if (absl::Status ok = BatchRouter::CheckKeys(keys, batch_.answered); !ok.ok()) return ok;
  batch_.router->Route(keys, answers);

  std::int32_t* const node_indexes =
      response.mutable_node_indexes()->AddNAlreadyReserved(static_cast<int>(count));
  int* const ring_versions =
      response.mutable_ring_versions()->AddNAlreadyReserved(static_cast<int>(count));
  for (std::size_t i = 0; i < count; ++i) {
    std::int32_t& place = places_[answers[i].owner];
    if (place == kNoPlace) {
      place = static_cast<std::int32_t>(batch_.nodes.size());
      batch_.nodes.push_back(answers[i].owner);
      ToProto(batch_.table->data_center().node(answers[i].owner), *response.add_nodes());
    }
    node_indexes[i] = place;
    ring_versions[i] = ToProto(answers[i].ring_version);
    batch_.by_v2 += answers[i].ring_version == RingVersion::kV2;
  }
  batch_.answered += count;
  return absl::OkStatus();
}

void TableHandler::EndBatch(const absl::Status& status) {
  for (const NodeIndex node : batch_.nodes) places_[node] = kNoPlace;
  batch_.nodes.clear();
  if (status.ok()) {
    ToProto(*batch_.table, *batch_.response->mutable_table());
    const std::size_t pool = batch_.router->pool();
    CountRoutes(*batch_.table, pool, RingVersion::kV1, batch_.answered - batch_.by_v2);
    CountRoutes(*batch_.table, pool, RingVersion::kV2, batch_.by_v2);
  } else if (metrics_ != nullptr) {
    // A batch without keys is counted too.
    CountErrors(batch_.request->data_center(), status.code(), std::max<std::size_t>(KeyCount(), 1));
  }
  if (metrics_ != nullptr) Observe(RoutingMethod::kRouteBatch, batch_.arrival);
  batch_.router.reset();
  batch_.table.reset();
}

void TableHandler::CountRefused(absl::StatusCode code) {
  if (metrics_ != nullptr) metrics_->CountRefused(code);
}

void TableHandler::CountRoutes(const RoutingTable& table, std::size_t pool, RingVersion version,
                               std::size_t keys) const {
  if (metrics_ == nullptr || keys == 0) return;
  const DataCenter& data_center = table.data_center();
  counters_->Use(data_center.name(), [&](const DataCenterRouteMetrics* counters) {
    if (counters == nullptr) return;
    counters->CountRoutes(pool, data_center.pools()[pool].name, version, keys);
  });
}

void TableHandler::CountErrors(const std::string& data_center, absl::StatusCode code,
                               std::size_t keys) const {
  counters_->Use(data_center, [&](const DataCenterRouteMetrics* counters) {
    (counters == nullptr ? metrics_->other() : *counters).CountErrors(code, keys);
  });
}

void TableHandler::Observe(RoutingMethod method, Time arrival) const {
  metrics_->Observe(method, std::chrono::steady_clock::now() - arrival);
}

}  // namespace ringshift
