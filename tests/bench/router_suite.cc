#include "tests/bench/router_suite.h"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/bench/client_process.h"
#include "tests/bench/in_process.h"
#include "tests/bench/load.h"
#include "tests/bench/pairs.h"
#include "tests/bench/questions.h"
#include "tests/bench/server_process.h"
#include "tests/bench/side.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {
namespace {

constexpr std::size_t kBatchKeys = 1'000;

using RouteSide = Side<RouteQuestions>;
using BatchSide = Side<BatchQuestions>;

// What a handler that does nothing answers.
Workload WithoutAnswers(Workload workload) {
  workload.owners.assign(workload.keys.size(), "");
  workload.ring_versions.assign(workload.keys.size(), v1::RING_VERSION_UNSPECIFIED);
  return workload;
}

// What a handler answers that has one answer for all batches.
Workload WithAnswersOfFirstBatch(Workload workload) {
  for (std::size_t i = kBatchKeys; i < workload.keys.size(); ++i) {
    workload.owners[i] = workload.owners[i % kBatchKeys];
    workload.ring_versions[i] = workload.ring_versions[i % kBatchKeys];
  }
  return workload;
}

class RouterSuite {
 public:
  RouterSuite(const SuiteSize& size, Figures& figures) : size_(size), figures_(figures) {}

  absl::Status Run() {
    absl::Status status = MeasureCase("1m", size_.case_1m, Target{1.12});
    if (status.ok()) status = MeasureBatches();
    if (status.ok()) status = MeasureBesideBatches();
    if (status.ok()) status = MeasureBesideReloads();
    if (status.ok()) status = MeasureMetrics();
    if (status.ok()) status = MeasureCase("20m", size_.case_20m, Target{1.25});
    if (status.ok()) status = MeasureCase("204m", size_.case_204m, std::nullopt);
    if (status.ok()) status = MeasureMemory();
    return status;
  }

 private:
  // As the stack's own figures were measured: one queue and one thread of the server are kept busy.
  static constexpr std::size_t kOutstandingRoutes = 64;
  static constexpr std::size_t kOutstandingBatches = 4;
  // That leaves something of two cores to what is beside, as a router does that is not overloaded:
  // where calls take all the CPU that there is, their latency says only how it is shared.
  static constexpr std::size_t kRoutesBeside = 2;
  static constexpr std::size_t kChannels = 2;

  absl::StatusOr<std::unique_ptr<RouteSide>> StartRoutes(
      HandlerKind kind, const BenchCase& bench_case, const Workload& workload,
      std::size_t outstanding = kOutstandingRoutes) {
    absl::StatusOr<ServerProcess> server =
        ServerProcess::StartBenchServer(kind, bench_case, kBatchKeys);
    if (!server.ok()) return server.status();
    return std::make_unique<RouteSide>(*std::move(server), outstanding, kChannels, workload);
  }

  absl::StatusOr<std::unique_ptr<BatchSide>> StartBatches(HandlerKind kind,
                                                          const BenchCase& bench_case,
                                                          const Workload& workload) {
    absl::StatusOr<ServerProcess> server =
        ServerProcess::StartBenchServer(kind, bench_case, kBatchKeys);
    if (!server.ok()) return server.status();
    return std::make_unique<BatchSide>(*std::move(server), kOutstandingBatches, kChannels, workload,
                                       kBatchKeys);
  }

  // The CPU of the first side's server against that of the second's.
  template <typename QuestionsType>
  absl::StatusOr<PairRatio> CpuRatio(Side<QuestionsType>& measured, Side<QuestionsType>& reference,
                                     std::size_t calls) {
    return MeasurePairs(
        size_.pairs, [&] { return measured.CpuPerCall(calls); },
        [&] { return reference.CpuPerCall(calls); });
  }

  // In process, then behind a server, against one that does nothing.
  absl::Status MeasureCase(const std::string& name, std::string_view case_name,
                           std::optional<Target> target) {
    const absl::StatusOr<BenchCase> bench_case = FindCase(case_name);
    if (!bench_case.ok()) return bench_case.status();
    Progress(name + ": building the rings");
    const absl::StatusOr<Workload> workload = MakeWorkload(*bench_case, size_.keys);
    if (!workload.ok()) return workload.status();
    {
      const absl::StatusOr<std::shared_ptr<const RoutingTable>> table =
          BuildTable(MakeSpec(*bench_case), bench_case->v2_ppm);
      if (!table.ok()) return table.status();
      Progress(name + ": in process");
      absl::Status status = MeasureInProcess(name, **table, *workload, size_.seconds, figures_);
      if (!status.ok()) return status;
    }

    Progress(name + ": Route against an empty handler");
    const Workload nothing = WithoutAnswers(*workload);
    auto real = StartRoutes(HandlerKind::kReal, *bench_case, *workload);
    if (!real.ok()) return real.status();
    // It needs no rings to answer nothing.
    auto empty = StartRoutes(HandlerKind::kEmpty, kCases[0], nothing);
    if (!empty.ok()) return empty.status();
    const absl::StatusOr<PairRatio> ratio = CpuRatio(**real, **empty, size_.calls);
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("route_cpu_ratio_" + name, *ratio, "us server CPU a call", target);
    figures_.Add("route_calls_per_second_" + name,
                 static_cast<double>((*real)->last.calls) / (*real)->last.time.count(),
                 "Route calls/s, 64 outstanding, client and server on one machine");
    return absl::OkStatus();
  }

  absl::Status MeasureBatches() {
    const absl::StatusOr<BenchCase> bench_case = FindCase(size_.case_1m);
    if (!bench_case.ok()) return bench_case.status();
    const absl::StatusOr<Workload> workload = MakeWorkload(*bench_case, size_.keys);
    if (!workload.ok()) return workload.status();
    Progress("RouteBatch against a copy of an answer");
    const Workload one_answer = WithAnswersOfFirstBatch(*workload);
    auto real = StartBatches(HandlerKind::kReal, *bench_case, *workload);
    if (!real.ok()) return real.status();
    auto empty = StartBatches(HandlerKind::kEmpty, *bench_case, one_answer);
    if (!empty.ok()) return empty.status();
    const absl::StatusOr<PairRatio> ratio = CpuRatio(**real, **empty, size_.batches);
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("batch_cpu_ratio", *ratio, "us server CPU a batch of 1,000", Target{1.6});
    auto wire = StartBatches(HandlerKind::kEmptyWire, *bench_case, one_answer);
    if (!wire.ok()) return wire.status();
    const absl::StatusOr<PairRatio> wire_ratio = CpuRatio(**real, **wire, size_.batches);
    if (!wire_ratio.ok()) return wire_ratio.status();
    figures_.AddRatio("batch_cpu_ratio_wire", *wire_ratio, "us server CPU a batch of 1,000",
                      std::nullopt);
    figures_.Add("batch_keys_per_second",
                 static_cast<double>((*real)->last.calls * kBatchKeys) / (*real)->last.time.count(),
                 "keys/s in batches of 1,000, 4 outstanding, client and server on one machine");
    return absl::OkStatus();
  }

  // Of Route calls, in microseconds.
  absl::StatusOr<double> P99(RouteSide& routes) const {
    const absl::StatusOr<LoadResult> result = routes.load.Run(size_.calls);
    if (!result.ok()) return result.status();
    return Microseconds(result->p99);
  }

  // Route calls alone, and with a client beside them that has one batch after the other.
  absl::Status MeasureBesideBatches() {
    const absl::StatusOr<BenchCase> bench_case = FindCase(size_.case_1m);
    if (!bench_case.ok()) return bench_case.status();
    const absl::StatusOr<Workload> workload = MakeWorkload(*bench_case, size_.keys);
    if (!workload.ok()) return workload.status();
    Progress("Route beside batches");
    auto routes = StartRoutes(HandlerKind::kReal, *bench_case, *workload, kRoutesBeside);
    if (!routes.ok()) return routes.status();
    const BatchLoad batches{(*routes)->server.address(), *bench_case, size_.keys, kBatchKeys};

    const auto p99 = [&] { return P99(**routes); };
    std::size_t batch_count = 0;
    std::chrono::duration<double> batch_time{};
    const auto p99_beside_batches = [&]() -> absl::StatusOr<double> {
      absl::StatusOr<ClientProcess> client = ClientProcess::Start(batches);
      if (!client.ok()) return client.status();
      const absl::StatusOr<double> value = p99();
      client->Stop();
      const absl::StatusOr<ClientProcess::Result> beside = client->WaitForEnd();
      if (!beside.ok()) return beside.status();
      batch_count += beside->calls;
      batch_time += beside->time;
      return value;
    };
    const absl::StatusOr<PairRatio> ratio = MeasurePairs(size_.pairs, p99_beside_batches, p99);
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("unary_p99_beside_batches", *ratio, "us p99 of Route", Target{1.5});
    figures_.Add("batches_per_second_beside", static_cast<double>(batch_count) / batch_time.count(),
                 "batches/s of 1,000 keys that the Route calls were beside");
    return absl::OkStatus();
  }

  // Route calls alone, and while the router builds the rings of one topology after the other.
  absl::Status MeasureBesideReloads() {
    absl::StatusOr<BenchCase> bench_case = FindCase(size_.case_16m);
    if (!bench_case.ok()) return bench_case.status();
    bench_case->v2_ppm = 0;  // where a router with a new store begins
    const absl::StatusOr<Workload> workload = MakeWorkload(*bench_case, size_.keys);
    if (!workload.ok()) return workload.status();
    Progress("Route beside reloads");
    DataCenterSpec spec = MakeSpec(*bench_case);
    absl::StatusOr<ServerProcess> router = ServerProcess::StartRouter(spec);
    if (!router.ok()) return router.status();
    RouteSide routes(*std::move(router), kRoutesBeside, kChannels, *workload);

    const auto p99_beside_reload = [&]() -> absl::StatusOr<double> {
      // Of other layouts the rings are built again, and the owners stay.
      spec.v1->layout = OtherLayout(spec.v1->layout);
      spec.v2.layout = OtherLayout(spec.v2.layout);
      std::atomic<bool> is_reloading = true;
      absl::Status reloaded;
      std::thread reload([&] {
        reloaded = routes.server.Reload(spec);
        is_reloading = false;
      });
      const absl::StatusOr<LoadResult> result = routes.load.RunWhile(
          [&](std::size_t started) { return started == 0 || is_reloading.load(); });
      reload.join();
      if (!reloaded.ok()) return reloaded;
      if (!result.ok()) return result.status();
      return Microseconds(result->p99);
    };
    const auto p99 = [&] { return P99(routes); };
    const absl::StatusOr<PairRatio> ratio = MeasurePairs(size_.pairs, p99_beside_reload, p99);
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("unary_p99_beside_reloads", *ratio, "us p99 of Route",
                      Target{3, Bound::kBelow});
    return absl::OkStatus();
  }

  absl::Status MeasureMetrics() {
    const absl::StatusOr<BenchCase> bench_case = FindCase(size_.case_1m);
    if (!bench_case.ok()) return bench_case.status();
    const absl::StatusOr<Workload> workload = MakeWorkload(*bench_case, size_.keys);
    if (!workload.ok()) return workload.status();
    Progress("metrics on against off");
    auto on = StartRoutes(HandlerKind::kReal, *bench_case, *workload);
    if (!on.ok()) return on.status();
    auto off = StartRoutes(HandlerKind::kUncounted, *bench_case, *workload);
    if (!off.ok()) return off.status();
    const absl::StatusOr<PairRatio> ratio = CpuRatio(**on, **off, size_.calls);
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("metrics_cpu_ratio", *ratio, "us server CPU a call", Target{1.03});
    return absl::OkStatus();
  }

  struct Memory {
    double rings = 0;     // what the router says its rings hold
    double resident = 0;  // what it has
    double peak = 0;      // what it had at most
  };

  static absl::StatusOr<Memory> MemoryOfRouter(const DataCenterSpec& spec) {
    const absl::StatusOr<ServerProcess> router = ServerProcess::StartRouter(spec);
    if (!router.ok()) return router.status();
    const absl::StatusOr<double> rings = router->SumOfMetric("ringshift_ring_memory_bytes");
    if (!rings.ok()) return rings.status();
    const absl::StatusOr<std::uint64_t> resident = router->ResidentBytes();
    if (!resident.ok()) return resident.status();
    const absl::StatusOr<std::uint64_t> peak = router->PeakBytes();
    if (!peak.ok()) return peak.status();
    return Memory{*rings, static_cast<double>(*resident), static_cast<double>(*peak)};
  }

  // A real router with both rings, against one with the same nodes and next to no points.
  absl::Status MeasureMemory() {
    const absl::StatusOr<BenchCase> bench_case = FindCase(size_.case_204m);
    if (!bench_case.ok()) return bench_case.status();
    Progress("memory of ringshiftd");
    const absl::StatusOr<Memory> full = MemoryOfRouter(MakeSpec(*bench_case));
    if (!full.ok()) return full.status();
    BenchCase small_case = *bench_case;
    small_case.weight = 1;
    const absl::StatusOr<Memory> small = MemoryOfRouter(MakeSpec(small_case));
    if (!small.ok()) return small.status();

    const double growth = full->resident - small->resident;
    const double expected = full->rings - small->rings;
    figures_.Add("memory_metric_error", std::abs(growth / expected - 1),
                 "resident memory of the rings against ringshift_ring_memory_bytes", Target{0.03});
    figures_.Add("build_peak_ratio", full->peak / full->rings,
                 "peak of the process while building both rings, of the two finished",
                 Target{1.5, Bound::kBelow});
    figures_.Add("ring_memory_mib_204m", full->rings / (1 << 20), "MiB of both rings");
    figures_.Add("router_memory_mib_204m", full->resident / (1 << 20),
                 "MiB resident of a router with them");
    return absl::OkStatus();
  }

  const SuiteSize size_;
  Figures& figures_;
};

}  // namespace

absl::Status RunRouterSuite(const SuiteSize& size, Figures& figures) {
  return RouterSuite(size, figures).Run();
}

}  // namespace ringshift::bench
