#include "server/migration_requests.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <string_view>
#include <system_error>
#include <utility>

#include "routing/topology.h"

namespace ringshift {
namespace {

// A page token of the history is this and the place of the last change of the page before:
// "before:17:ams".
constexpr std::string_view kBeforeTokenStart = "before:";

absl::StatusOr<HistoryPlace> ParseBeforeToken(std::string_view token) {
  if (!token.starts_with(kBeforeTokenStart)) return BadPageToken();
  const std::string_view place = token.substr(kBeforeTokenStart.size());
  const std::size_t colon = place.find(':');
  if (colon == std::string_view::npos) return BadPageToken();
  HistoryPlace before;
  const char* const end = place.data() + colon;
  const auto [stop, error] = std::from_chars(place.data(), end, before.revision);
  if (error != std::errc() || stop != end || before.revision <= 0) return BadPageToken();
  const std::string_view name = place.substr(colon + 1);
  if (!HasDataCenterCharacters(name)) return BadPageToken();
  before.data_center = name;
  return before;
}

// Whether a topology may have a data center of this name.
absl::Status CheckNewName(const std::string& name) {
  constexpr std::size_t kMaxBytes = 63;
  if (name.empty()) {
    return absl::InvalidArgumentError("new_data_center is empty: name the data center");
  }
  if (name.size() > kMaxBytes || !HasDataCenterCharacters(name) || name == kOtherDataCenter) {
    return absl::InvalidArgumentError("new_data_center \"" + name.substr(0, kMaxBytes) +
                                      "\" is not the name of a data center: 1 to 63 of a-z, 0-9 "
                                      "and -, and not \"other\"");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Selector> ParseSelector(const v1::Selector& selector) {
  const int fields = (selector.data_centers_size() > 0 ? 1 : 0) +
                     (selector.tier().empty() ? 0 : 1) + (selector.all() ? 1 : 0);
  if (fields == 0) {
    return absl::InvalidArgumentError("selector is empty: give data_centers, tier or all");
  }
  if (fields > 1) {
    return absl::InvalidArgumentError(
        "selector has more than one of data_centers, tier and all: give one of them");
  }
  for (const std::string& name : selector.data_centers()) {
    if (name.empty()) {
      return absl::InvalidArgumentError("selector has a data center without a name");
    }
  }
  return Selector{{selector.data_centers().begin(), selector.data_centers().end()},
                  selector.tier(),
                  selector.all()};
}

std::string CutText(const std::string& text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  const auto is_inside = [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
  };
  std::size_t end = max_bytes;
  while (end > 0 && is_inside(text[end])) --end;
  return text.substr(0, end);
}

absl::StatusOr<MigrationController::ShareRules> ParseShareRules(
    const v1::SetMigrationRequest& request) {
  MigrationController::ShareRules rules;
  rules.accept_imbalance = request.accept_imbalance();
  if (request.has_max_churn_ppm()) {
    rules.max_churn_ppm = request.max_churn_ppm();
    if (*rules.max_churn_ppm < 0 || *rules.max_churn_ppm > Share::kMaxPpm) {
      return absl::InvalidArgumentError("max_churn_ppm is " + std::to_string(*rules.max_churn_ppm) +
                                        "; it must be 0 to 1000000");
    }
  }
  return rules;
}

absl::StatusOr<ForecastOrder> ParseForecastOrder(const v1::ForecastMigrationRequest& request) {
  absl::StatusOr<Selector> selector = ParseSelector(request.selector());
  if (!selector.ok()) return selector.status();
  const absl::StatusOr<Share> share = ParseShare(request);
  if (!share.ok()) return share.status();
  ForecastOrder order{*std::move(selector), *share, std::nullopt};
  if (request.has_hit_ratio()) {
    order.hit_ratio = request.hit_ratio();
    if (!(*order.hit_ratio >= 0 && *order.hit_ratio <= 1)) {  // nor a NaN
      return absl::InvalidArgumentError("hit_ratio is " + std::to_string(*order.hit_ratio) +
                                        "; it must be 0 to 1");
    }
  }
  return order;
}

absl::StatusOr<Retirement> ParseRetirement(const v1::RetireRingRequest& request) {
  constexpr std::int64_t kDefaultMinAge = 3600;
  constexpr std::int64_t kMaxMinAge = std::int64_t{10} * 366 * 24 * 3600;
  Retirement retirement;
  if (request.ring_version() == v1::RING_VERSION_V1) {
    retirement.version = RingVersion::kV1;
  } else if (request.ring_version() == v1::RING_VERSION_V2) {
    retirement.version = RingVersion::kV2;
  } else {
    return absl::InvalidArgumentError("ring_version is " + std::to_string(request.ring_version()) +
                                      ": name the ring to retire, v1 or v2");
  }
  const std::int64_t age =
      request.has_min_age_seconds() ? request.min_age_seconds() : kDefaultMinAge;
  if (age < 0 || age > kMaxMinAge) {
    return absl::InvalidArgumentError("min_age_seconds is " + std::to_string(age) +
                                      "; it must be 0 to " + std::to_string(kMaxMinAge));
  }
  retirement.min_age = std::chrono::seconds(age);
  return retirement;
}

absl::StatusOr<DefaultShareUpdate> ParseDefaultShare(const v1::SetDefaultShareRequest& request,
                                                     const std::string& peer) {
  const absl::StatusOr<Share> share = ParseShare(request);
  if (!share.ok()) return share.status();
  absl::Status fits = CheckWhoAndWhy(request.reason(), request.requested_by());
  if (!fits.ok()) return fits;
  DefaultShareUpdate update;
  update.share = *share;
  if (request.has_base_revision()) update.base_revision = request.base_revision();
  update.actor = Actor(request.requested_by(), peer);
  update.reason = request.reason();
  return update;
}

absl::StatusOr<HistoryQuery> ParseHistoryQuery(const v1::ListMigrationChangesRequest& request) {
  const absl::StatusOr<std::size_t> page_size = PageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  HistoryQuery query;
  query.data_center = request.data_center();
  query.limit = *page_size + 1;
  if (!request.page_token().empty()) {
    absl::StatusOr<HistoryPlace> before = ParseBeforeToken(request.page_token());
    if (!before.ok()) return before.status();
    query.before = *std::move(before);
  }
  return query;
}

std::string HistoryPageToken(const MigrationChange& last) {
  return std::string(kBeforeTokenStart) + std::to_string(last.revision) + ":" + last.data_center;
}

absl::StatusOr<ForgetRequest> ParseForget(const v1::ForgetMigrationRequest& request,
                                          const std::string& peer) {
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  absl::Status fits = CheckWhoAndWhy(request.reason(), request.requested_by());
  if (!fits.ok()) return fits;
  ForgetRequest wanted;
  wanted.data_center = request.data_center();
  if (request.has_base_revision()) wanted.base_revision = request.base_revision();
  wanted.actor = Actor(request.requested_by(), peer);
  wanted.reason = request.reason();
  return wanted;
}

absl::StatusOr<RenameRequest> ParseRename(const v1::RenameMigrationRequest& request,
                                          const std::string& peer) {
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  if (absl::Status named = CheckNewName(request.new_data_center()); !named.ok()) return named;
  if (request.new_data_center() == request.data_center()) {
    return absl::InvalidArgumentError("data_center and new_data_center are both \"" +
                                      request.data_center() + "\"");
  }
  absl::Status fits = CheckWhoAndWhy(request.reason(), request.requested_by());
  if (!fits.ok()) return fits;
  RenameRequest wanted;
  wanted.from = request.data_center();
  wanted.to = request.new_data_center();
  wanted.actor = Actor(request.requested_by(), peer);
  wanted.reason = request.reason();
  return wanted;
}

}  // namespace ringshift
