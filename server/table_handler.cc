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

constexpr std::size_t kSlowerWithPastNodes = 4;

absl::Status CheckKeyCount(std::size_t keys) {
  if (keys >= 1 && keys <= kMaxBatchKeys) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::string_view("the batch has " + std::to_string(keys) +
                                                      " keys; it must have 1 to " +
                                                      std::to_string(kMaxBatchKeys)));
}

// `keys` times the part of the points that are of the nodes that are looked for, at least 1. Where
// there are past nodes, previous owners are looked up one after the other, and take longer.
std::size_t SliceKeys(const RoutingTable& table, std::size_t pool, std::size_t keys) {
  if (table.has_previous_owners() && table.state().past_nodes != nullptr) {
    keys = std::max<std::size_t>(keys / kSlowerWithPastNodes, 1);
  }
  const NodeSet& nodes = table.data_center().node_set();
  const NodeMask& settled = table.settled(pool);
  const NodeMask& eligible =
      settled.count() > 0 ? settled : table.data_center().pools()[pool].nodes;
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
    Count(*table, [&](const DataCenterRouteMetrics& counters) {
      const std::string& pool = table->data_center().pools()[answer->pool].name;
      counters.CountRoutes(answer->pool, pool, answer->ring_version, 1);
      counters.SampleKeys(answer->pool, pool, sample_writer_, table->decision().seed(), 1,
                          [&](std::size_t) -> const RouteAnswer& { return *answer; });
    });
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
  batch_.slice_keys = SliceKeys(*table, router->pool(), kSliceKeys);
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
  // A bad key further on refuses all the same: nothing is sent or counted before the end. The
  // sample of keys does not mind.
  if (absl::Status ok = BatchRouter::CheckKeys(keys, batch_.answered); !ok.ok()) return ok;
  batch_.router->Route(keys, answers);

  for (const BatchAnswer& answer : answers) {
    const std::int32_t owner = PlaceOf(answer.owner);
    const std::int32_t previous_owner =
        answer.previous_owner == BatchAnswer::kNoNode ? kNoPlace : PlaceOf(answer.previous_owner);
    batch_writer_.AddKey(static_cast<std::uint32_t>(owner), answer.ring_version,
                         static_cast<std::uint32_t>(previous_owner + 1));
    batch_.by_v2 += answer.ring_version == RingVersion::kV2;
  }
  Count(*batch_.table, [&](const DataCenterRouteMetrics& counters) {
    const std::size_t pool = batch_.router->pool();
    counters.SampleKeys(pool, batch_.table->data_center().pools()[pool].name, sample_writer_,
                        batch_.table->decision().seed(), count,
                        [answers](std::size_t i) -> const BatchAnswer& { return answers[i]; });
  });
  batch_.answered += count;
  return absl::OkStatus();
}

std::int32_t TableHandler::AddNode(NodeIndex node) {
  places_[node] = static_cast<std::int32_t>(batch_.nodes.size());
  batch_.nodes.push_back(node);
  batch_writer_.AddNode(batch_.table->data_center().node(node));
  return places_[node];
}

void TableHandler::EndBatch(const absl::Status& status, grpc::ByteBuffer& response) {
  for (const NodeIndex node : batch_.nodes) places_[node] = kNoPlace;
  batch_.nodes.clear();
  if (status.ok()) {
    batch_writer_.Finish(*batch_.table, response);
    Count(*batch_.table, [&](const DataCenterRouteMetrics& counters) {
      const std::size_t pool = batch_.router->pool();
      const std::string& name = batch_.table->data_center().pools()[pool].name;
      counters.CountRoutes(pool, name, RingVersion::kV1, batch_.answered - batch_.by_v2);
      counters.CountRoutes(pool, name, RingVersion::kV2, batch_.by_v2);
    });
  } else {
    batch_writer_.Clear();
    const BatchRequestReader::Fields& request = batch_reader_.fields();
    // A batch without keys is counted too, and one that has more than a batch may have as the
    // largest one: a caller who sends millions is not millions of errors.
    if (metrics_ != nullptr) {
      CountErrors(request.data_center, status.code(),
                  std::clamp<std::size_t>(request.key_count, 1, kMaxBatchKeys));
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

template <typename Counting>
void TableHandler::Count(const RoutingTable& table, Counting counting) const {
  if (metrics_ == nullptr) return;
  counters_->Use(table.data_center().name(), [&](const DataCenterRouteMetrics* counters) {
    if (counters != nullptr) counting(*counters);
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
