#include "routing/routing_table.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "routing/internal/checksum.h"

namespace ringshift {
namespace {

std::uint64_t TableChecksum(const DataCenter& data_center, const Migration& migration) {
  internal::Checksum checksum;
  checksum.Add(data_center.checksum());
  checksum.Add(migration.salt);
  checksum.Add(migration.decision_algorithm);
  return checksum.Value();
}

}  // namespace

absl::StatusOr<std::shared_ptr<const RoutingTable>> RoutingTable::Create(
    std::shared_ptr<const DataCenter> data_center, Migration migration) {
  if (migration.data_center != data_center->name()) {
    return absl::InvalidArgumentError(absl::StrCat("the migration of data center ",
                                                   migration.data_center, " for data center ",
                                                   data_center->name()));
  }
  if (migration.decision_algorithm != kDecisionAlgorithm) {
    return absl::FailedPreconditionError(absl::StrCat(
        "data center ", data_center->name(), ": its migration has the decision algorithm \"",
        migration.decision_algorithm, "\", and this program knows only \"",
        absl::string_view(kDecisionAlgorithm.data(), kDecisionAlgorithm.size()),
        "\"; use the version of Ringshift that the fleet uses"));
  }
  return std::shared_ptr<const RoutingTable>(
      new RoutingTable(std::move(data_center), std::move(migration)));
}

RoutingTable::RoutingTable(std::shared_ptr<const DataCenter> data_center, Migration migration)
    : data_center_(std::move(data_center)),
      migration_(std::move(migration)),
      decision_(migration_.salt),
      share_(data_center_->v1() == nullptr ? Share::All() : migration_.share),
      checksum_(TableChecksum(*data_center_, migration_)) {}

std::string_view RoutingTable::share_reason() const {
  return share_ == migration_.share ? "" : "the data center has no ring v1";
}

}  // namespace ringshift
