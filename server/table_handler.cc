#include "server/table_handler.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
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

absl::Status TableHandler::Route(const grpc::ByteBuffer& request, Time arrival,
                                 grpc::ByteBuffer& response) {
  if (!route_reader_.Read(request)) return Unreadable("ringshift.v1.RouteRequest");
  const absl::Status status = Answer(response);
  if (metrics_ != nullptr) {
    if (!status.ok()) CountErrors(route_reader_.fields().data_center, status.code(), 1);
    Observe(RoutingMethod::kRoute, arrival);
  }
  route_reader_.Clear();
  return status;
}

absl::Status TableHandler::Unreadable(const char* message_name) const {
  if (metrics_ != nullptr) metrics_->CountRefused(absl::StatusCode::kInvalidArgument);
  return absl::InvalidArgumentError(absl::StrCat("the bytes of the request are no ", message_name));
}

absl::Status TableHandler::Answer(grpc::ByteBuffer& response) {
  const RouteRequestReader::Fields& request = route_reader_.fields();
  if (absl::Status ok = CheckCall(lifecycle_, request.data_center); !ok.ok()) return ok;
  return tables_->Use(request.data_center, [&](const RoutingTable* table) -> absl::Status {
    if (table == nullptr) return directory_.NotFound(request.data_center);
    const absl::StatusOr<RouteAnswer> answer =
        ringshift::Route(*table, {request.key, request.pool, request.replicas});
    if (!answer.ok()) return answer.status();
    route_writer_.Write(*table, *answer, request.replicas, response);
    CountRoutes(*table, answer->pool, answer->ring_version, 1);
    return absl::OkStatus();
  });
}

void TableHandler::StartBatch(const grpc::ByteBuffer& request, Time arrival) {
  batch_.request = &request;
  batch_.arrival = arrival;
  batch_.answered = 0;
  batch_.by_v2 = 0;
}

std::optional<absl::Status> TableHandler::ContinueBatch(grpc::ByteBuffer& response) {
  absl::Status status;
  if (batch_.table == nullptr) {
    if (!batch_reader_.Read(*batch_.request)) return Unreadable("ringshift.v1.RouteBatchRequest");
    status = TakeTable();
  }
  if (status.ok()) status = AnswerSlice();
  if (status.ok() && batch_.answered < batch_reader_.keys().size()) return std::nullopt;
  EndBatch(status, response);
  return status;
}

absl::Status TableHandler::TakeTable() {
  const BatchRequestReader::Fields& request = batch_reader_.fields();
  if (absl::Status ok = CheckCall(lifecycle_, request.data_center); !ok.ok()) return ok;
  if (absl::Status ok = CheckKeyCount(request.key_count); !ok.ok()) return ok;
  std::shared_ptr<const RoutingTable> table = tables_->Find(request.data_center);
  if (table == nullptr) return directory_.NotFound(request.data_center);
  absl::StatusOr<BatchRouter> router = BatchRouter::Create(*table, request.pool);
  if (!router.ok()) return router.status();
  batch_.slice_keys = SliceKeys(table->data_center(), router->pool(), kSliceKeys);
  batch_.router.emplace(*router);
  batch_.table = std::move(table);

  const std::size_t node_count = batch_.table->data_center().node_set().size();
  if (places_.size() < node_count) places_.resize(node_count, kNoPlace);
  return absl::OkStatus();
}

absl::Status TableHandler::AnswerSlice() {
  const std::span<const std::string_view> all = batch_reader_.keys();
  const std::size_t count = std::min(batch_.slice_keys, all.size() - batch_.answered);
  const auto keys = all.subspan(batch_.answered, count);
  const auto answers = std::span(answers_).first(count);
  // A bad key further on refuses all the same: nothing is sent or counted before the end.
  if (absl::Status ok = BatchRouter::CheckKeys(keys, batch_.answered); !ok.ok()) return ok;
  batch_.router->Route(keys, answers);

  for (const BatchAnswer& answer : answers) {
    std::int32_t& place = places_[answer.owner];
    if (place == kNoPlace) [[unlikely]] {
      place = static_cast<std::int32_t>(batch_.nodes.size());
      batch_.nodes.push_back(answer.owner);
      batch_writer_.AddNode(batch_.table->data_center().node(answer.owner));
    }
    batch_writer_.AddKey(static_cast<std::uint32_t>(place), answer.ring_version);
    batch_.by_v2 += answer.ring_version == RingVersion::kV2;
  }
  batch_.answered += count;
  return absl::OkStatus();
}

void TableHandler::EndBatch(const absl::Status& status, grpc::ByteBuffer& response) {
  for (const NodeIndex node : batch_.nodes) places_[node] = kNoPlace;
  batch_.nodes.clear();
  if (status.ok()) {
    batch_writer_.Finish(*batch_.table, response);
    const std::size_t pool = batch_.router->pool();
    CountRoutes(*batch_.table, pool, RingVersion::kV1, batch_.answered - batch_.by_v2);
    CountRoutes(*batch_.table, pool, RingVersion::kV2, batch_.by_v2);
  } else {
    batch_writer_.Clear();
    const BatchRequestReader::Fields& request = batch_reader_.fields();
    // A batch without keys is counted too.
    if (metrics_ != nullptr) {
      CountErrors(request.data_center, status.code(), std::max<std::size_t>(request.key_count, 1));
    }
  }
  if (metrics_ != nullptr) Observe(RoutingMethod::kRouteBatch, batch_.arrival);
  batch_reader_.Clear();
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

void TableHandler::CountErrors(std::string_view data_center, absl::StatusCode code,
                               std::size_t keys) const {
  counters_->Use(data_center, [&](const DataCenterRouteMetrics* counters) {
    (counters == nullptr ? metrics_->other() : *counters).CountErrors(code, keys);
  });
}

void TableHandler::Observe(RoutingMethod method, Time arrival) const {
  metrics_->Observe(method, std::chrono::steady_clock::now() - arrival);
}

}  // namespace ringshift
