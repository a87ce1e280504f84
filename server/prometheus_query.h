// Instant queries of a Prometheus, as the values of guards.
//
//   absl::StatusOr<std::unique_ptr<PrometheusQuery>> prometheus =
//       PrometheusQuery::Create("http://prometheus:9090", {});
//   Measurement up = (*prometheus)->Measure("sum(up)");
//
// One scalar, or a vector of one element, is a value. Everything else is none, with the reason: no
// data, not a number, several series, partial data (warnings), an answer that is not one, a
// moment of evaluation that is not now, no answer in time. A reason stays the same while its cause
// does.
//
// Thread safety: thread-safe. Cost: a connection a query, and the time that Prometheus takes: at
// most Options::timeout to connect and again to answer.
#ifndef RINGSHIFT_SERVER_PROMETHEUS_QUERY_H_
#define RINGSHIFT_SERVER_PROMETHEUS_QUERY_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "migration/rollout_executor.h"
#include "migration/rollout_machine.h"
#include "migration/wall_time.h"

namespace ringshift {

class PrometheusQuery final : public GuardSource {
 public:
  struct Options {
    std::chrono::milliseconds timeout = std::chrono::seconds(2);
    WallClock clock = SystemWallTime;
  };

  // An answer that was evaluated longer ago than this, or so far ahead, is stale: it came from a
  // cache, or the clocks differ.
  static constexpr std::chrono::seconds kMaxAge{60};
  // A longer answer is not one value.
  static constexpr std::size_t kMaxAnswerBytes = std::size_t{1} << 20;

  // `url` is "http://HOST[:PORT][/PATH]"; the queries go to PATH/api/v1/query. INVALID_ARGUMENT
  // quotes any other. Nothing is connected yet.
  static absl::StatusOr<std::unique_ptr<PrometheusQuery>> Create(std::string_view url,
                                                                 Options options);

  Measurement Measure(const std::string& query) override;

 private:
  PrometheusQuery(std::string origin, std::string path, Options options);

  const std::string origin_;  // "http://HOST[:PORT]"
  const std::string path_;    // "[/PATH]/api/v1/query"
  const Options options_;
};

// What an answer of /api/v1/query says, evaluated at `now` or nearly so.
Measurement ReadPrometheusAnswer(const std::string& json, WallTime now);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_PROMETHEUS_QUERY_H_
