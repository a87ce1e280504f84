#include "server/rate_window.h"

#include <algorithm>

namespace ringshift {
namespace {

// What a counter has more than before. It has less where a pool, and its counter, is gone.
std::uint64_t Increase(std::uint64_t before, std::uint64_t now) {
  return now > before ? now - before : 0;
}

}  // namespace

RateWindow::Counts RateWindow::ToCounts(const KeyCounts& keys, const OutcomeTotals& outcomes) {
  Counts counts{};
  counts[kV1Keys] = keys.v1;
  counts[kV2Keys] = keys.v2;
  counts[kErrors] = keys.errors;
  std::copy(outcomes.v1.begin(), outcomes.v1.end(), counts.begin() + kV1Outcomes);
  std::copy(outcomes.v2.begin(), outcomes.v2.end(), counts.begin() + kV2Outcomes);
  return counts;
}

RateWindow::Counts RateWindow::CountsAt(const Series& series, const Counts& counters) {
  Counts counts = series.points.back().counts;
  for (std::size_t i = 0; i < counters.size(); ++i) {
    counts[i] += Increase(series.counters[i], counters[i]);
  }
  return counts;
}

void RateWindow::Sample() {
  const std::map<std::string, KeyCounts> keys = routes_.CountedKeys();
  const std::map<std::string, OutcomeTotals, std::less<>> outcomes = outcomes_.Totals();
  const std::chrono::steady_clock::time_point now = clock_();
  MutexLock lock(mutex_);
  std::erase_if(series_, [&](const auto& each) { return !keys.contains(each.first); });
  for (const auto& [name, key_counts] : keys) {
    const auto reported = outcomes.find(name);
    const Counts counters =
        ToCounts(key_counts, reported == outcomes.end() ? OutcomeTotals() : reported->second);
    const auto [found, is_new] = series_.try_emplace(name);
    Series& series = found->second;
    series.points.push_back({now, is_new ? Counts{} : CountsAt(series, counters)});
    series.counters = counters;
    // The first one is at the window's begin, or the last one before it.
    while (series.points.size() > 2 && now - series.points[1].time >= kLength) {
      series.points.pop_front();
    }
  }
}

RateWindow::Rate RateWindow::Of(std::string_view data_center) const {
  MutexLock lock(mutex_);
  const auto found = series_.find(data_center);
  if (found == series_.end()) return {};
  // Under the lock, so that no sample is newer.
  const Counts last = CountsAt(
      found->second, ToCounts(routes_.CountedKeys(data_center), outcomes_.Totals(data_center)));
  const Point& first = found->second.points.front();
  const std::chrono::duration<double> looked_at = clock_() - first.time;
  const double seconds = std::max(looked_at.count(), 1.0);
  const auto per_second = [&](std::size_t i) {
    return static_cast<double>(last[i] - first.counts[i]) / seconds;
  };
  const auto outcomes = [&](std::size_t begin) -> std::optional<ByOutcome<double>> {
    ByOutcome<double> rates{};
    for (std::size_t i = 0; i < kOutcomes; ++i) rates[i] = per_second(begin + i);
    if (*std::max_element(rates.begin(), rates.end()) <= 0) return std::nullopt;
    return rates;
  };
  Rate rate;
  const double v2 = per_second(kV2Keys);
  rate.keys_per_second = per_second(kV1Keys) + v2;
  if (rate.keys_per_second > 0) rate.v2_ratio = v2 / rate.keys_per_second;
  rate.errors_per_second = per_second(kErrors);
  rate.v1_outcomes = outcomes(kV1Outcomes);
  rate.v2_outcomes = outcomes(kV2Outcomes);
  return rate;
}

}  // namespace ringshift
