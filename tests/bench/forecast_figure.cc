#include "tests/bench/forecast_figure.h"

#include <time.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/key_sample.h"
#include "server/forecaster.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {
namespace {

constexpr double kHitRatio = 0.95;
const Share kTo = Share::FromPpm(100'000).value();

// A table, and all that a router knows of the traffic when 100,000 keys were routed.
struct Router {
  std::shared_ptr<const RoutingTable> table;
  RouteMetrics metrics;
  RoutingDirectory directory;
  OutcomeCounts outcomes{directory};
  RateWindow rates{metrics, outcomes};
  Forecaster forecaster{metrics, rates, [](std::string_view) { return std::nullopt; }};
};

absl::StatusOr<std::unique_ptr<Router>> MakeRouter(std::string_view case_name) {
  const absl::StatusOr<BenchCase> bench_case = FindCase(case_name);
  if (!bench_case.ok()) return bench_case.status();
  DataCenterSpec spec = MakeSpec(*bench_case);
  spec.v1->layout = RingLayout::kDense;
  spec.v2.layout = RingLayout::kDense;
  absl::StatusOr<std::shared_ptr<const RoutingTable>> table = BuildTable(spec, 0);
  if (!table.ok()) return table.status();
  auto router = std::make_unique<Router>();
  router->table = *std::move(table);
  router->metrics.Serve(router->table->data_center());
  const Decision& decision = router->table->decision();
  router->metrics.NewReader()->Use(kDataCenter, [&](const DataCenterRouteMetrics* counters) {
    counters->SampleKeys(0, kDefaultPool, KeySample::NewWriter(), decision.seed(), 100'000,
                         [&decision](std::size_t i) {
                           const std::string key = MakeKey(i);
                           return RoutedKey{Ring::Position(key), decision.Bucket(key), 0};
                         });
  });
  return router;
}

// The part of evenly spaced positions whose owner differs between the rings.
double CountedChurn(const DataCenter& data_center) {
  constexpr std::uint32_t kStride = 1009;
  std::uint64_t positions = 0;
  std::uint64_t moved = 0;
  for (std::uint64_t position = 0; position < std::uint64_t{1} << 32; position += kStride) {
    const auto at = static_cast<std::uint32_t>(position);
    ++positions;
    moved += data_center.v1()->ring->OwnerAt(at) != data_center.v2()->ring->OwnerAt(at);
  }
  return static_cast<double>(moved) / static_cast<double>(positions);
}

// CPU time of this process: a forecast takes one core, and gives way to whoever else wants it.
double ProcessSeconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double ForecastSeconds(Router& router, v1::Forecast& forecast) {
  const double start = ProcessSeconds();
  forecast = router.forecaster.Forecast(*router.table, kTo, kHitRatio);
  return ProcessSeconds() - start;
}

}  // namespace

absl::Status MeasureForecast(std::string_view checked_case, std::string_view large_case,
                             Figures& figures) {
  const absl::StatusOr<std::unique_ptr<Router>> checked = MakeRouter(checked_case);
  if (!checked.ok()) return checked.status();
  const double counted = CountedChurn((*checked)->table->data_center());
  const absl::StatusOr<double> exact =
      (*checked)->forecaster.Churn(*(*checked)->table, Share::None(), Share::All());
  if (!exact.ok()) return exact.status();
  // Of four million positions, some in a hundred thousand come out otherwise by chance.
  if (std::abs(counted - *exact) > 0.002) {
    return absl::InternalError(absl::StrCat("wrong churn: ", *exact, "; counted ", counted));
  }

  const absl::StatusOr<std::unique_ptr<Router>> large = MakeRouter(large_case);
  if (!large.ok()) return large.status();
  v1::Forecast forecast;
  const double first = ForecastSeconds(**large, forecast);
  const double expected = *exact * kTo.ppm() / Share::kMaxPpm;  // as in the checked one, about
  if (forecast.nodes_size() == 0 || !forecast.has_routed_churn() ||
      std::abs(forecast.routed_churn().value() - forecast.churn()) > 0.1 * expected) {
    return absl::InternalError("the forecast is not that of its keys");
  }
  figures.Add("forecast_seconds_225m", first,
              "s of CPU, on one core: the first forecast of a pair of rings", Target{5});
  const double again = ForecastSeconds(**large, forecast);
  figures.Add("forecast_again_ms", again * 1e3, "ms of CPU: the next one, of 100,000 routed keys");
  return absl::OkStatus();
}

}  // namespace ringshift::bench
