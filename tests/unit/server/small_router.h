// A router's state without its listeners: the data centers `ams`, with v1, and `new`, without, in a
// store in memory. It is always `now_`.
//
// Thread safety: that of its parts.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_SMALL_ROUTER_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_SMALL_ROUTER_H_

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/migration_controller.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/memory_store.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift::testing {

// A MigrationController::Check.
inline absl::Status Allow(const Migration&, Share) { return absl::OkStatus(); }

// Of one data center.
inline Order OrderFor(const std::string& data_center,
                      std::optional<std::int64_t> base_revision = std::nullopt) {
  return {{{data_center}, "", false}, base_revision, "me", "because"};
}

class SmallRouterTest : public ::testing::Test {
 protected:
  void Adopt() {
    ASSERT_THAT(controller_.Load(), IsOk());
    ASSERT_THAT(Adopt(SmallDataCenter("ams")), IsOk());
    ASSERT_THAT(Adopt(SmallDataCenter("new", /*has_v1=*/false)), IsOk());
  }
  absl::Status Adopt(const DataCenterSpec& spec, NodeHistory node_history = {}) {
    return controller_.Adopt(Built(spec), std::move(node_history), Allow);
  }

  std::shared_ptr<const RoutingTable> Table(std::string_view name) {
    return directory_.Find(name).value();
  }

  absl::StatusOr<MigrationController::Changed> Set(
      const std::string& name, std::int64_t ppm,
      std::optional<std::int64_t> base_revision = std::nullopt) {
    auto changes =
        controller_.SetShare(OrderFor(name, base_revision), Share::FromPpm(ppm).value(), {});
    if (!changes.ok()) return changes.status();
    return changes->front();
  }

  WallTime now_{std::chrono::seconds(1'800'000'000)};
  MemoryStore store_{[this] { return now_; }};
  RoutingDirectory directory_;
  MigrationController controller_{
      store_, directory_, {{}, std::chrono::hours(24), [this] { return now_; }}};
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_SMALL_ROUTER_H_
