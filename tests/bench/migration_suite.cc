#include "tests/bench/migration_suite.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "migration/decision.h"
#include "tests/bench/client_process.h"
#include "tests/bench/forecast_figure.h"
#include "tests/bench/pairs.h"
#include "tests/bench/questions.h"
#include "tests/bench/side.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {
namespace {

// As in the suite `router`.
constexpr std::size_t kOutstandingRoutes = 64;
constexpr std::size_t kChannels = 2;
// One after the other, some 10,000 a second, which is what the figure is promised for.
constexpr std::size_t kRoutesBeside = 1;

constexpr std::int32_t kSteadyBuckets = 500'000;

class MigrationSuite {
 public:
  MigrationSuite(const MigrationSuiteSize& size, Figures& figures)
      : size_(size), figures_(figures) {}

  absl::Status Run() {
    absl::Status status = MeasurePreviousOwners("", size_.case_1m, Target{1.10});
    if (status.ok()) status = MeasurePreviousOwners("_16m", size_.case_16m, std::nullopt);
    if (status.ok()) status = MeasureBesideChanges();
    if (status.ok()) {
      Progress("forecasts");
      status = MeasureForecast(size_.case_changes, size_.case_225m, figures_);
    }
    return status;
  }

 private:
  // Route with both rings live, with a previous owner in nearly all answers against none.
  absl::Status MeasurePreviousOwners(const std::string& suffix, std::string_view case_name,
                                     std::optional<Target> target) {
    const absl::StatusOr<BenchCase> bench_case = FindCase(case_name);
    if (!bench_case.ok()) return bench_case.status();
    Progress("previous owners: building the rings of case " + std::string(case_name));
    const absl::StatusOr<Workload> with = MakeWorkload(*bench_case, size_.keys, BothRingsWarm());
    if (!with.ok()) return with.status();
    Workload without = *with;
    std::fill(without.previous_owners.begin(), without.previous_owners.end(), "");
    absl::StatusOr<ServerProcess> measured =
        ServerProcess::StartBenchServer(HandlerKind::kPreviousOwners, *bench_case, 1);
    if (!measured.ok()) return measured.status();
    absl::StatusOr<ServerProcess> reference =
        ServerProcess::StartBenchServer(HandlerKind::kReal, *bench_case, 1);
    if (!reference.ok()) return reference.status();
    Side<RouteQuestions> named(*std::move(measured), kOutstandingRoutes, kChannels, *with);
    Side<RouteQuestions> unnamed(*std::move(reference), kOutstandingRoutes, kChannels, without);

    Progress("Route with previous owners against Route without");
    const absl::StatusOr<PairRatio> ratio = MeasurePairs(
        size_.pairs, [&] { return named.CpuPerCall(size_.calls); },
        [&] { return unnamed.CpuPerCall(size_.calls); });
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("previous_owner_cpu_ratio" + suffix, *ratio, "us server CPU a call", target);
    const auto none = std::count(with->previous_owners.begin(), with->previous_owners.end(), "");
    figures_.Add("previous_owner_answers" + suffix,
                 1 - static_cast<double>(none) / static_cast<double>(size_.keys),
                 "of the answers have a previous owner");
    return absl::OkStatus();
  }

  // Keys that a share of 50 % and less never gives to v2, so that their answers stay.
  absl::StatusOr<Workload> MakeSteadyWorkload(const BenchCase& bench_case) const {
    const absl::StatusOr<Workload> all = MakeWorkload(bench_case, size_.keys);
    if (!all.ok()) return all.status();
    const Decision decision(kDataCenter);  // the salt of a router with a new store
    Workload steady;
    for (std::size_t i = 0; i < all->keys.size(); ++i) {
      if (decision.Bucket(all->keys[i]) < std::uint32_t{kSteadyBuckets}) continue;
      steady.keys.push_back(all->keys[i]);
      steady.owners.push_back(all->owners[i]);
      steady.ring_versions.push_back(all->ring_versions[i]);
      steady.previous_owners.push_back(all->previous_owners[i]);
    }
    return steady;
  }

  // Route calls alone, and while the share is changed, one change after the other.
  absl::Status MeasureBesideChanges() {
    const absl::StatusOr<BenchCase> bench_case = FindCase(size_.case_changes);
    if (!bench_case.ok()) return bench_case.status();
    const absl::StatusOr<Workload> workload = MakeSteadyWorkload(*bench_case);
    if (!workload.ok()) return workload.status();
    Progress("Route beside changes of the share");
    absl::StatusOr<ServerProcess> router = ServerProcess::StartRouter(MakeSpec(*bench_case));
    if (!router.ok()) return router.status();
    Side<RouteQuestions> routes(*std::move(router), kRoutesBeside, kChannels, *workload);

    const ShareLoad changes{routes.server.admin_address(), size_.changes, kSteadyBuckets / 1000};
    std::chrono::duration<double> change_time{}, route_time{};
    std::size_t change_count = 0, route_count = 0;
    const auto p99_beside_changes = [&]() -> absl::StatusOr<double> {
      absl::StatusOr<ClientProcess> client = ClientProcess::Start(changes);
      if (!client.ok()) return client.status();
      const absl::StatusOr<LoadResult> result = routes.load.RunWhile(
          [&](std::size_t started) { return started % 128 != 100 || !client->HasEnded(); });
      const absl::StatusOr<ClientProcess::Result> changed = client->WaitForEnd();
      if (!changed.ok()) return changed.status();
      if (!result.ok()) return result.status();
      change_count += changed->calls;
      change_time += changed->time;
      route_count += result->calls;
      route_time += result->time;
      return Microseconds(result->p99);
    };
    const auto p99 = [&]() -> absl::StatusOr<double> {
      const absl::StatusOr<LoadResult> result = routes.load.Run(size_.calls);
      if (!result.ok()) return result.status();
      return Microseconds(result->p99);
    };
    const absl::StatusOr<PairRatio> ratio =
        MeasurePairs(size_.change_pairs, p99_beside_changes, p99);
    if (!ratio.ok()) return ratio.status();
    figures_.AddRatio("p99_ratio_during_1000_changes", *ratio, "us p99 of Route", Target{1.5});
    figures_.Add("changes_per_second", static_cast<double>(change_count) / change_time.count(),
                 "durable changes of the share/s");
    figures_.Add("routes_per_second_during_changes",
                 static_cast<double>(route_count) / route_time.count(),
                 "Route calls/s beside them");
    return absl::OkStatus();
  }

  const MigrationSuiteSize size_;
  Figures& figures_;
};

}  // namespace

absl::Status RunMigrationSuite(const MigrationSuiteSize& size, Figures& figures) {
  return MigrationSuite(size, figures).Run();
}

}  // namespace ringshift::bench
