// A router's state without its listeners: the data centers `ams`, with v1, and `new`, without, in a
// store in memory.
//
// Thread safety: that of its parts.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_SMALL_ROUTER_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_SMALL_ROUTER_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "server/migration_controller.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/memory_store.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift::testing {

// A MigrationController::Check.
inline absl::Status Allow(const Migration&) { return absl::OkStatus(); }

class SmallRouterTest : public ::testing::Test {
 protected:
  void Adopt() {
    ASSERT_THAT(controller_.Load(), IsOk());
    ASSERT_THAT(controller_.Adopt(Built(SmallDataCenter("ams")), Allow), IsOk());
    ASSERT_THAT(controller_.Adopt(Built(SmallDataCenter("new", /*has_v1=*/false)), Allow), IsOk());
  }

  std::shared_ptr<const RoutingTable> Table(std::string_view name) {
    return directory_.Find(name).value();
  }

  MemoryStore store_;
  RoutingDirectory directory_;
  MigrationController controller_{store_, directory_};
};

// Of `ams`.
inline ShareChange ChangeTo(std::int64_t ppm, std::optional<std::int64_t> expected_revision = {}) {
  return {"ams", Share::FromPpm(ppm).value(), expected_revision, "me", "because"};
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_SMALL_ROUTER_H_
