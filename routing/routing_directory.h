// The routing tables in service, by data center.
//
// Thread safety: thread-safe. A table that was found stays valid for as long as the caller holds
// it, whatever is published meanwhile; an idle thread holds none.
#ifndef RINGSHIFT_ROUTING_ROUTING_DIRECTORY_H_
#define RINGSHIFT_ROUTING_ROUTING_DIRECTORY_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/mutex.h"
#include "routing/routing_table.h"

namespace ringshift {

class RoutingDirectory {
 public:
  // Puts the table in the place of its data center's present one, or adds it. Cost: a pointer swap.
  void Publish(std::shared_ptr<const RoutingTable> table);

  // Takes the table of a data center away; false if there is none.
  bool Remove(std::string_view data_center);

  // NOT_FOUND with the known names, bounded.
  absl::StatusOr<std::shared_ptr<const RoutingTable>> Find(std::string_view data_center) const;

  // Every table, sorted by data center.
  std::vector<std::shared_ptr<const RoutingTable>> Tables() const;

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::shared_ptr<const RoutingTable>, std::less<>> tables_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROUTING_DIRECTORY_H_
