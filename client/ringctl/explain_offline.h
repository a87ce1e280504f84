// Explains keys without a router, from a topology file, as a router would that serves it.
#ifndef RINGSHIFT_CLIENT_RINGCTL_EXPLAIN_OFFLINE_H_
#define RINGSHIFT_CLIENT_RINGCTL_EXPLAIN_OFFLINE_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "migration/share.h"
#include "ringshift/v1/routing.pb.h"
#include "routing/routing_table.h"

namespace ringshift {

// Thread safety: immutable.
class OfflineExplainer {
 public:
  // Builds the rings of the data center, with a line on a terminal where that takes long. Without a
  // salt it is the data center's name, as on a router where nobody has changed it. Errors: those of
  // LoadDataCenter and DataCenter::Build.
  static absl::StatusOr<OfflineExplainer> Create(const std::string& topology_file,
                                                 const std::string& data_center, Share share,
                                                 const std::optional<std::string>& salt);

  // What a router would answer, but for the migration's revision, which is 0. Errors: those of
  // Route.
  absl::StatusOr<v1::ExplainRouteResponse> Explain(const v1::ExplainRouteRequest& request) const;

 private:
  explicit OfflineExplainer(std::shared_ptr<const RoutingTable> table) : table_(std::move(table)) {}

  std::shared_ptr<const RoutingTable> table_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_EXPLAIN_OFFLINE_H_
