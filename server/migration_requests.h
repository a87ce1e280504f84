// What the requests of MigrationService ask for, checked as far as that needs no state.
//
// Thread safety: pure functions. Errors: INVALID_ARGUMENT with the field, the value and the limit,
// where nothing else is said.
#ifndef RINGSHIFT_SERVER_MIGRATION_REQUESTS_H_
#define RINGSHIFT_SERVER_MIGRATION_REQUESTS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/share.h"
#include "migration/store.h"
#include "ringshift/v1/migration.pb.h"
#include "server/migration_controller.h"
#include "server/migration_proto.h"

namespace ringshift {

// Exactly one of its fields, and no data center without a name.
absl::StatusOr<Selector> ParseSelector(const v1::Selector& selector);

// The order that a request with a selector is. `peer` is where the call came from.
template <typename Request>
absl::StatusOr<Order> ParseOrder(const Request& request, const std::string& peer) {
  Order order;
  absl::StatusOr<Selector> selector = ParseSelector(request.selector());
  if (!selector.ok()) return selector.status();
  order.selector = *std::move(selector);
  if constexpr (requires { request.reason(); }) order.reason = request.reason();
  if constexpr (requires { request.base_revision(); }) {
    if (request.has_base_revision()) order.base_revision = request.base_revision();
    if (order.base_revision.value_or(0) < 0) {
      return absl::InvalidArgumentError("base_revision is " + std::to_string(*order.base_revision) +
                                        "; it must be 0 or more");
    }
  }
  if (absl::Status fits = CheckWhoAndWhy(order.reason, request.requested_by()); !fits.ok()) {
    return fits;
  }
  order.actor = Actor(request.requested_by(), peer);
  return order;
}

// The field v2_ppm.
template <typename Request>
absl::StatusOr<Share> ParseShare(const Request& request) {
  if (!request.has_v2_ppm()) {
    return absl::InvalidArgumentError(
        "v2_ppm is absent: give the share in parts per million, 0 to 1000000; 0 is a value too");
  }
  return Share::FromPpm(request.v2_ppm());
}

absl::StatusOr<MigrationController::ShareRules> ParseShareRules(
    const v1::SetMigrationRequest& request);

// What goes with a rollback, which is not refused for being too long: at most `max_bytes` of it,
// cut where a character of UTF-8 begins.
std::string CutText(const std::string& text, std::size_t max_bytes);

// What is to be forecast.
struct ForecastOrder {
  Selector selector;
  Share share;
  std::optional<double> hit_ratio;  // 0 to 1
};
absl::StatusOr<ForecastOrder> ParseForecastOrder(const v1::ForecastMigrationRequest& request);

// What is to be retired.
struct Retirement {
  RingVersion version = RingVersion::kV1;
  std::chrono::seconds min_age{0};
};
absl::StatusOr<Retirement> ParseRetirement(const v1::RetireRingRequest& request);

absl::StatusOr<DefaultShareUpdate> ParseDefaultShare(const v1::SetDefaultShareRequest& request,
                                                     const std::string& peer);

// With one more row than the page has, which tells whether there is more.
absl::StatusOr<HistoryQuery> ParseHistoryQuery(const v1::ListMigrationChangesRequest& request);
// The token of the page behind the one that ends with `last`.
std::string HistoryPageToken(const MigrationChange& last);

absl::StatusOr<ForgetRequest> ParseForget(const v1::ForgetMigrationRequest& request,
                                          const std::string& peer);
absl::StatusOr<RenameRequest> ParseRename(const v1::RenameMigrationRequest& request,
                                          const std::string& peer);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_REQUESTS_H_
