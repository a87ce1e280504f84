// All that answers the requests of one data center, at one moment: its rings and its migration
// state. A request takes one table and decides everything from it.
//
// Thread safety: immutable. Cost of Create: no ring is touched; for a share change it is
// microseconds.
#ifndef RINGSHIFT_ROUTING_ROUTING_TABLE_H_
#define RINGSHIFT_ROUTING_ROUTING_TABLE_H_

#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "migration/decision.h"
#include "migration/store.h"
#include "routing/data_center.h"

namespace ringshift {

class RoutingTable {
 public:
  // FAILED_PRECONDITION if the migration's decision algorithm is not one that this program knows:
  // it would not agree with the routers that wrote it. INVALID_ARGUMENT if the names differ.
  static absl::StatusOr<std::shared_ptr<const RoutingTable>> Create(
      std::shared_ptr<const DataCenter> data_center, Migration migration);

  const DataCenter& data_center() const { return *data_center_; }
  const std::shared_ptr<const DataCenter>& shared_data_center() const { return data_center_; }
  const Migration& migration() const { return migration_; }
  const Decision& decision() const { return decision_; }

  // The share that this table answers with, the effective one: the migration's, the requested one,
  // or all where there is no v1.
  Share share() const { return share_; }
  // Why it is another one than the migration's, for people; "" where it is not.
  std::string_view share_reason() const;

  // Over DataCenter::checksum(), the salt and the decision algorithm. With it, the key, the pool
  // and the migration's revision, an answer can be reproduced.
  std::uint64_t checksum() const { return checksum_; }

 private:
  RoutingTable(std::shared_ptr<const DataCenter> data_center, Migration migration);

  const std::shared_ptr<const DataCenter> data_center_;
  const Migration migration_;
  const Decision decision_;
  const Share share_;
  const std::uint64_t checksum_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROUTING_TABLE_H_
