#include "tests/bench/bench_server.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/table_handler.h"
#include "server/wire_requests.h"
#include "tests/testing/byte_buffers.h"
#include "tests/testing/message_handler.h"

namespace ringshift::bench {
namespace {

class EmptyHandler final : public testing::MessageHandler {
 public:
  explicit EmptyHandler(v1::RouteBatchResponse batch) : batch_(std::move(batch)) {}

 private:
  absl::Status AnswerRoute(const v1::RouteRequest&, v1::RouteResponse&) override {
    return absl::OkStatus();
  }
  std::optional<absl::Status> AnswerBatch(const v1::RouteBatchRequest&,
                                          v1::RouteBatchResponse& response) override {
    response = batch_;
    return absl::OkStatus();
  }

  const v1::RouteBatchResponse batch_;
};

class EmptyWireHandler final : public RoutingHandler {
 public:
  explicit EmptyWireHandler(const v1::RouteBatchResponse& batch)
      : batch_(batch.SerializeAsString()) {}

  absl::Status Route(const grpc::ByteBuffer& request, Time, grpc::ByteBuffer& response) override {
    if (!route_reader_.Read(request)) return absl::InvalidArgumentError("no request");
    response = testing::ToByteBuffer(std::string());
    return absl::OkStatus();
  }
  void StartBatch(const grpc::ByteBuffer& request, Time) override { request_ = &request; }
  std::optional<absl::Status> ContinueBatch(grpc::ByteBuffer& response) override {
    if (!batch_reader_.Read(*request_)) return absl::InvalidArgumentError("no request");
    response = testing::ToByteBuffer(batch_);
    return absl::OkStatus();
  }
  void CountRefused(absl::StatusCode) override {}

 private:
  const std::string batch_;
  const grpc::ByteBuffer* request_ = nullptr;
  RouteRequestReader route_reader_;
  BatchRequestReader batch_reader_;
};

std::unique_ptr<TableHandler> MakeTableHandler(BenchServer::Parts& parts, bool counts) {
  return std::make_unique<TableHandler>(parts.lifecycle, parts.directory,
                                        counts ? &parts.metrics : nullptr);
}

absl::StatusOr<v1::RouteBatchResponse> AnswerFirstBatch(BenchServer::Parts& parts,
                                                        std::size_t batch_keys) {
  v1::RouteBatchRequest request;
  request.set_data_center(std::string(kDataCenter));
  for (std::size_t i = 0; i < batch_keys; ++i) request.add_keys(MakeKey(i));
  const grpc::ByteBuffer bytes = testing::ToByteBuffer(request);
  grpc::ByteBuffer response_bytes;
  const std::unique_ptr<TableHandler> handler = MakeTableHandler(parts, false);
  handler->StartBatch(bytes, std::chrono::steady_clock::now());
  std::optional<absl::Status> status;
  while (!status) status = handler->ContinueBatch(response_bytes);
  if (!status->ok()) return *status;
  v1::RouteBatchResponse response;
  if (!testing::Parse(response_bytes, response)) return absl::InternalError("no response");
  return response;
}

}  // namespace

std::string_view HandlerName(HandlerKind kind) {
  switch (kind) {
    case HandlerKind::kReal:
      return "real";
    case HandlerKind::kPreviousOwners:
      return "previous-owners";
    case HandlerKind::kUncounted:
      return "uncounted";
    case HandlerKind::kEmpty:
      return "empty";
    case HandlerKind::kEmptyWire:
      return "empty-wire";
  }
  return "";
}

absl::StatusOr<HandlerKind> FindHandler(std::string_view name) {
  for (const HandlerKind kind :
       {HandlerKind::kReal, HandlerKind::kPreviousOwners, HandlerKind::kUncounted,
        HandlerKind::kEmpty, HandlerKind::kEmptyWire}) {
    if (HandlerName(kind) == name) return kind;
  }
  return absl::NotFoundError("no handler " + std::string(name));
}

absl::StatusOr<std::unique_ptr<BenchServer>> BenchServer::Start(HandlerKind kind,
                                                                const BenchCase& bench_case,
                                                                std::size_t batch_keys) {
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      BuildTable(MakeSpec(bench_case), bench_case.v2_ppm,
                 kind == HandlerKind::kPreviousOwners ? BothRingsWarm() : RouterState{});
  if (!table.ok()) return table.status();
  if (kind != HandlerKind::kEmpty && kind != HandlerKind::kEmptyWire) {
    const bool counts = kind != HandlerKind::kUncounted;
    return StartWith(*table, [counts](Parts& parts) { return MakeTableHandler(parts, counts); });
  }
  absl::Status status;
  const auto make = [&](Parts& parts) -> std::unique_ptr<RoutingHandler> {
    absl::StatusOr<v1::RouteBatchResponse> batch = AnswerFirstBatch(parts, batch_keys);
    status.Update(batch.status());
    if (!batch.ok()) batch.emplace();
    if (kind == HandlerKind::kEmptyWire) return std::make_unique<EmptyWireHandler>(*batch);
    return std::make_unique<EmptyHandler>(*std::move(batch));
  };
  absl::StatusOr<std::unique_ptr<BenchServer>> server = StartWith(*table, make);
  if (!status.ok()) return status;
  return server;
}

absl::StatusOr<std::unique_ptr<BenchServer>> BenchServer::StartWith(
    const std::shared_ptr<const RoutingTable>& table, const HandlerMaker& make_handler) {
  std::unique_ptr<BenchServer> server(new BenchServer);
  Parts& parts = server->parts_;
  parts.metrics.Serve(table->data_center());
  parts.directory.Publish(table);
  parts.lifecycle.StartServing();
  ListenAddress address{"127.0.0.1", 0};
  absl::StatusOr<std::unique_ptr<RoutingServer>> started =
      RoutingServer::Start(address, {}, server->service_, [&] { return make_handler(parts); });
  if (!started.ok()) return started.status();
  server->server_ = *std::move(started);
  server->address_ = address.ToString();
  return server;
}

int RunBenchServer(HandlerKind kind, const BenchCase& bench_case, std::size_t batch_keys) {
  // As ringshiftd does.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  const absl::StatusOr<std::unique_ptr<BenchServer>> server =
      BenchServer::Start(kind, bench_case, batch_keys);
  if (!server.ok()) {
    std::fprintf(stderr, "error=\"%s\"\n", std::string(server.status().message()).c_str());
    return 1;
  }
  std::fprintf(stderr, "address=%s\n", (*server)->address().c_str());
  for (;;) ::pause();
}

}  // namespace ringshift::bench
