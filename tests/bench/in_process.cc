#include "tests/bench/in_process.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "routing/route.h"
#include "routing/route_batch.h"

namespace ringshift::bench {
namespace {

constexpr std::size_t kBatchKeys = 1'000;
constexpr int kRepetitions = 5;

// Keeps the median of each benchmark, in nanoseconds an iteration.
class MedianReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.aggregate_name == "median") {
        medians_[run.run_name.function_name] = run.GetAdjustedCPUTime();
      }
    }
  }
  // 0 if there is none.
  double Median(const std::string& name) const {
    const auto found = medians_.find(name);
    return found == medians_.end() ? 0 : found->second;
  }

 private:
  std::map<std::string, double> medians_;
};

absl::Status CheckAnswer(const RoutingTable& table, const Workload& workload, std::size_t key,
                         NodeIndex owner, RingVersion ring_version) {
  const std::string& name = table.data_center().node(owner).name;
  const bool is_v2 = workload.ring_versions[key] == v1::RING_VERSION_V2;
  if (name == workload.owners[key] && is_v2 == (ring_version == RingVersion::kV2)) {
    return absl::OkStatus();
  }
  return absl::InternalError("wrong answer: " + workload.keys[key] + " is " + name + "; right is " +
                             workload.owners[key]);
}

}  // namespace

absl::Status MeasureInProcess(const std::string& name, const RoutingTable& table,
                              const Workload& workload, double seconds, Figures& figures) {
  const absl::StatusOr<BatchRouter> batch = BatchRouter::Create(table, "");
  if (!batch.ok()) return batch.status();
  const std::vector<std::string_view> keys(workload.keys.begin(), workload.keys.end());
  std::vector<BatchAnswer> answers(keys.size());
  batch->Route(keys, answers);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    absl::Status right = CheckAnswer(table, workload, i, answers[i].owner, answers[i].ring_version);
    if (!right.ok()) return right;
    const absl::StatusOr<RouteAnswer> answer = Route(table, {.key = keys[i], .pool = ""});
    if (!answer.ok()) return answer.status();
    right = CheckAnswer(table, workload, i, answer->nodes()[0], answer->ring_version);
    if (!right.ok()) return right;
  }

  const std::string route_name = "route_ns_" + name;
  const std::string batch_name = "batch_key_ns_" + name;
  const auto measure = [seconds](const std::string& benchmark_name, const auto& body) {
    benchmark::RegisterBenchmark(benchmark_name.c_str(), body)
        ->MinTime(seconds)
        ->Repetitions(kRepetitions)
        ->Unit(benchmark::kNanosecond);
  };
  measure(route_name, [&](benchmark::State& state) {
    std::size_t i = 0;
    for (auto _ : state) {
      benchmark::DoNotOptimize(Route(table, {.key = keys[i], .pool = ""}));
      if (++i == keys.size()) i = 0;
    }
  });
  const std::size_t batch_keys = std::min(kBatchKeys, keys.size());
  measure(batch_name, [&](benchmark::State& state) {
    std::size_t i = 0;
    for (auto _ : state) {
      batch->Route(std::span(keys).subspan(i, batch_keys),
                   std::span(answers).subspan(i, batch_keys));
      benchmark::ClobberMemory();
      i += batch_keys;
      if (i + batch_keys > keys.size()) i = 0;
    }
  });
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::ClearRegisteredBenchmarks();

  const double route_ns = reporter.Median(route_name);
  const double batch_ns = reporter.Median(batch_name) / static_cast<double>(batch_keys);
  if (!(route_ns > 0) || !(batch_ns > 0)) return absl::InternalError("nothing was measured");
  figures.Add(route_name, route_ns, "ns CPU a key, Route in process");
  figures.Add(batch_name, batch_ns, "ns CPU a key, BatchRouter in process, batches of 1,000");
  return absl::OkStatus();
}

}  // namespace ringshift::bench
