#include "tests/bench/bench_server.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "server/table_handler.h"

namespace ringshift::bench {
namespace {

class EmptyHandler final : public RoutingHandler {
 public:
  explicit EmptyHandler(v1::RouteBatchResponse batch) : batch_(std::move(batch)) {}

  absl::Status Route(const v1::RouteRequest&, Time, v1::RouteResponse&) override {
    return absl::OkStatus();
  }
  void StartBatch(const v1::RouteBatchRequest&, Time, v1::RouteBatchResponse& response) override {
    response_ = &response;
  }
  std::optional<absl::Status> ContinueBatch() override {
    *response_ = batch_;
    return absl::OkStatus();
  }
  void CountRefused(absl::StatusCode) override {}

 private:
  const v1::RouteBatchResponse batch_;
  v1::RouteBatchResponse* response_ = nullptr;
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
  v1::RouteBatchResponse response;
  const std::unique_ptr<TableHandler> handler = MakeTableHandler(parts, false);
  handler->StartBatch(request, std::chrono::steady_clock::now(), response);
  std::optional<absl::Status> status;
  while (!status) status = handler->ContinueBatch();
  if (!status->ok()) return *status;
  return response;
}

}  // namespace

std::string_view HandlerName(HandlerKind kind) {
  switch (kind) {
    case HandlerKind::kReal:
      return "real";
    case HandlerKind::kUncounted:
      return "uncounted";
    case HandlerKind::kEmpty:
      return "empty";
  }
  return "";
}

absl::StatusOr<HandlerKind> FindHandler(std::string_view name) {
  for (const HandlerKind kind :
       {HandlerKind::kReal, HandlerKind::kUncounted, HandlerKind::kEmpty}) {
    if (HandlerName(kind) == name) return kind;
  }
  return absl::NotFoundError("no handler " + std::string(name));
}

absl::StatusOr<std::unique_ptr<BenchServer>> BenchServer::Start(HandlerKind kind,
                                                                const BenchCase& bench_case,
                                                                std::size_t batch_keys) {
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
      BuildTable(MakeSpec(bench_case), bench_case.v2_ppm);
  if (!table.ok()) return table.status();
  if (kind == HandlerKind::kReal || kind == HandlerKind::kUncounted) {
    const bool counts = kind == HandlerKind::kReal;
    return StartWith(*table, [counts](Parts& parts) { return MakeTableHandler(parts, counts); });
  }
  absl::Status status;
  absl::StatusOr<std::unique_ptr<BenchServer>> server = StartWith(*table, [&](Parts& parts) {
    absl::StatusOr<v1::RouteBatchResponse> batch = AnswerFirstBatch(parts, batch_keys);
    status.Update(batch.status());
    if (!batch.ok()) batch.emplace();
    return std::make_unique<EmptyHandler>(*std::move(batch));
  });
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
