// The routing tables in service, by data center.
//
// Thread safety: thread-safe. A table that was found stays valid for as long as the caller holds
// it, whatever is published meanwhile; an idle thread holds none.
#ifndef RINGSHIFT_ROUTING_ROUTING_DIRECTORY_H_
#define RINGSHIFT_ROUTING_ROUTING_DIRECTORY_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "routing/reader_map.h"
#include "routing/routing_table.h"

namespace ringshift {

class RoutingDirectory {
 public:
  using Reader = ReaderMap<RoutingTable>::Reader;

  // Puts the table in the place of its data center's present one, or adds it. Every reader has it
  // then. Cost: a pointer swap for each reader.
  void Publish(std::shared_ptr<const RoutingTable> table);

  // Takes the table of a data center away; false if there is none.
  bool Remove(std::string_view data_center);

  // For a thread that looks tables up all the time. The directory outlives it.
  std::unique_ptr<Reader> NewReader() { return tables_.NewReader(); }

  // NOT_FOUND with the known names, bounded.
  absl::StatusOr<std::shared_ptr<const RoutingTable>> Find(std::string_view data_center) const;

  // The error of Find, for a data center that a Reader does not have.
  absl::Status NotFound(std::string_view data_center) const;

  // Every table, sorted by data center.
  std::vector<std::shared_ptr<const RoutingTable>> Tables() const;

 private:
  ReaderMap<RoutingTable> tables_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_ROUTING_ROUTING_DIRECTORY_H_
