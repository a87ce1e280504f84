#include "server/outcome_counts.h"

#include <utility>
#include <vector>

#include "routing/topology.h"

namespace ringshift {
namespace {

constexpr std::pair<Outcome, const char*> kOutcomeNames[] = {
    {Outcome::kHit, "hit"},
    {Outcome::kPreviousOwnerHit, "previous_owner_hit"},
    {Outcome::kOrigin, "origin"},
    {Outcome::kConnectError, "connect_error"},
    {Outcome::kError, "error"}};

template <typename Totals>
auto& TotalsOf(Totals& totals, RingVersion version) {
  return version == RingVersion::kV2 ? totals.v2 : totals.v1;
}

}  // namespace

OutcomeCounts::OutcomeCounts(RoutingDirectory& directory, Clock clock)
    : directory_(directory), tables_(directory.NewReader()), clock_(std::move(clock)) {}

bool OutcomeCounts::IsServed(std::string_view data_center) const {
  return tables_->Use(data_center, [](const RoutingTable* table) { return table != nullptr; });
}

void OutcomeCounts::Add(std::string_view data_center, RingVersion version, Outcome outcome,
                        std::uint64_t count) {
  if (!IsServed(data_center)) data_center = kOtherDataCenter;
  const auto index = static_cast<std::size_t>(outcome);
  const std::int64_t number = SlotNumber();
  const absl::MutexLock lock(&mutex_);
  auto found = counts_.find(data_center);
  if (found == counts_.end()) {
    std::erase_if(counts_, [this](const auto& counts) {
      return counts.first != kOtherDataCenter && !IsServed(counts.first);
    });
    found = counts_.try_emplace(std::string(data_center)).first;
  }
  Counts& counts = found->second;
  TotalsOf(counts.totals, version)[index] += count;
  Slot& slot = counts.slots[static_cast<std::size_t>(number) % kSlots];
  if (slot.number != number) slot = {number, {}};
  slot.counts[index] += count;
}

std::optional<double> OutcomeCounts::HitRatio(std::string_view data_center) const {
  const std::int64_t number = SlotNumber();
  const absl::MutexLock lock(&mutex_);
  const auto found = counts_.find(data_center);
  if (found == counts_.end()) return std::nullopt;
  std::uint64_t hits = 0;
  std::uint64_t all = 0;
  for (const Slot& slot : found->second.slots) {
    if (slot.number <= number - static_cast<std::int64_t>(kSlots)) continue;
    const auto count = [&slot](Outcome outcome) {
      return slot.counts[static_cast<std::size_t>(outcome)];
    };
    const std::uint64_t from_caches = count(Outcome::kHit) + count(Outcome::kPreviousOwnerHit);
    hits += from_caches;
    all += from_caches + count(Outcome::kOrigin);
  }
  if (all == 0) return std::nullopt;
  return static_cast<double>(hits) / static_cast<double>(all);
}

OutcomeTotals OutcomeCounts::Totals(std::string_view data_center) const {
  const absl::MutexLock lock(&mutex_);
  const auto found = counts_.find(data_center);
  return found == counts_.end() ? OutcomeTotals{} : found->second.totals;
}

std::map<std::string, OutcomeTotals, std::less<>> OutcomeCounts::Totals() const {
  std::map<std::string, OutcomeTotals, std::less<>> totals;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, counts] : counts_) totals.emplace(name, counts.totals);
  return totals;
}

void OutcomeCounts::Collect(MetricFamilies& families) const {
  prometheus::MetricFamily family =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_reported_outcomes_total",
                 "Requests by what became of them, as edge services reported it; `other` is a data "
                 "center that is not served.");
  std::vector<std::pair<std::string, bool>> names = {{std::string(kOtherDataCenter), true}};
  for (const std::shared_ptr<const RoutingTable>& table : directory_.Tables()) {
    const DataCenterSpec& spec = table->data_center().spec();
    names.emplace_back(spec.name, spec.v1.has_value());
  }
  const Counts none;
  const absl::MutexLock lock(&mutex_);
  for (const auto& [name, has_v1] : names) {
    const auto found = counts_.find(name);
    const Counts& counts = found == counts_.end() ? none : found->second;
    for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
      for (const auto& [outcome, outcome_name] : kOutcomeNames) {
        const std::uint64_t total =
            TotalsOf(counts.totals, version)[static_cast<std::size_t>(outcome)];
        if (version == RingVersion::kV1 && !has_v1 && total == 0) continue;
        AddCounter(family,
                   {{"data_center", name},
                    {"ring_version", std::string(RingVersionName(version))},
                    {"outcome", outcome_name}},
                   static_cast<double>(total));
      }
    }
  }
  families.push_back(std::move(family));
}

}  // namespace ringshift
