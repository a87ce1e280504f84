// What the admin services have in common: migrations as messages, and the checks of the fields that
// many requests have.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_MIGRATION_PROTO_H_
#define RINGSHIFT_SERVER_MIGRATION_PROTO_H_

#include <google/protobuf/timestamp.pb.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "migration/store.h"
#include "ringshift/v1/migration.pb.h"
#include "server/migration_controller.h"

namespace ringshift {

inline constexpr int kMaxPageSize = 1000;
inline constexpr std::size_t kMaxReasonBytes = 1024;
inline constexpr std::size_t kMaxRequestedByBytes = 256;

void ToProto(WallTime time, google::protobuf::Timestamp& proto);
// All but what is measured: rates, outcomes, and the share that they have.
void ToProto(const MigrationController::View& view, v1::Migration& proto);
void ToProto(const MigrationChange& change, v1::MigrationChange& proto);
void ToProto(const DefaultShare& share, v1::DefaultShare& proto);

// Each is OK, or INVALID_ARGUMENT with the field, the value and the limit.
absl::Status CheckDataCenterIsNamed(const std::string& data_center);
absl::Status CheckLength(std::string_view field, const std::string& value, std::size_t limit);
// The fields `reason` and `requested_by`.
absl::Status CheckWhoAndWhy(const std::string& reason, const std::string& requested_by);

// Who makes a change, for the history: who it says it is, and the address that the call came from.
std::string Actor(const std::string& requested_by, const std::string& peer);

// How many a page has at most. INVALID_ARGUMENT for a negative page_size.
absl::StatusOr<std::size_t> PageSize(int page_size);

// A page token of a list of data centers by name: it has the last name of the page before. A data
// center that has gone meanwhile does no harm.
std::string NamePageToken(const std::string& last_name);
// That name; "" for the first page. INVALID_ARGUMENT for any other token.
absl::StatusOr<std::string_view> ParseNamePageToken(std::string_view token);

// Whether `name` is of the characters that names of data centers have. It may be empty.
bool HasDataCenterCharacters(std::string_view name);

// The refusal of a page_token.
absl::Status BadPageToken();

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MIGRATION_PROTO_H_
