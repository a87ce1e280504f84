#include "client/ringctl/status_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Json;
using ::ringshift::testing::Printed;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kStart = 1'769'860'800;  // 2026-01-31 12:00:00Z

RouterView Router() {
  RouterView router;
  router.server = "10.0.0.5:7401";
  router.server_flag = " --server 10.0.0.5:7401";
  v1::GetStatusResponse& status = router.status;
  status.set_version("0.2.0");
  status.set_phase(v1::ROUTER_PHASE_SERVING);
  status.mutable_start_time()->set_seconds(kStart);
  status.mutable_store()->set_name("sqlite:/var/lib/ringshift/state.db");
  status.mutable_store()->set_is_up(true);
  status.set_data_centers(1);
  status.set_ring_memory_bytes(22'400);
  v1::ReloadStatus& reload = *status.mutable_reload();
  reload.set_file("/etc/ringshift/topology.yaml");
  reload.set_checksum("0123456789abcdef");
  reload.mutable_last_attempt_time()->set_seconds(kStart + 60);
  reload.set_last_trigger(v1::RELOAD_TRIGGER_FILE);
  reload.mutable_last_success_time()->set_seconds(kStart + 60);
  reload.set_generation(4);
  v1::DataCenterSummary ams;
  ams.set_name("ams");
  ams.set_tier("canary");
  ams.set_nodes(10);
  ams.set_requested_v2_ppm(125'000);
  ams.set_effective_v2_ppm(125'000);
  ams.set_checksum(0x0123456789abcdef);
  for (const auto version : {v1::RING_VERSION_V1, v1::RING_VERSION_V2}) {
    v1::RingSummary* ring = ams.add_rings();
    ring->set_ring_version(version);
    ring->set_memory_bytes(version == v1::RING_VERSION_V1 ? 12'800 : 9'600);
    ring->set_max_ratio(version == v1::RING_VERSION_V1 ? 1.084 : 1.31);
  }
  router.data_centers.push_back(ams);
  return router;
}

std::string Print(const RouterView& router) {
  return Printed([&](Output& output) {
    PrintStatus(router, absl::FromUnixSeconds(kStart + 3 * 86400 + 4 * 3600 + 59), output);
  });
}

TEST(StatusViewTest, ARouterIsOneScreen) {
  EXPECT_EQ(Print(Router()),
            "router        10.0.0.5:7401, ringshiftd 0.2.0\n"
            "phase         serving, up since 2026-01-31 12:00:00Z (3 d 4 h)\n"
            "store         sqlite:/var/lib/ringshift/state.db, up\n"
            "topology      /etc/ringshift/topology.yaml\n"
            "checksum      0123456789abcdef\n"
            "last reload   2026-01-31 12:01:00Z by file: all of it serves\n"
            "last success  2026-01-31 12:01:00Z\n"
            "generation    4\n"
            "rings         of 1 data center, 21.9 KiB\n"
            "\n"
            "DATA CENTER  TIER    NODES     V2            EFFECTIVE    V1 MEM   V2 MEM   MAX/MEAN  "
            "CHECKSUM\n"
            "ams          canary     10  12.5%  [#.....]      12.5%  12.5 KiB  9.4 KiB  1.08 1.31  "
            "0123456789abcdef\n");
}

TEST(StatusViewTest, WhatIsWrongIsSeen) {
  RouterView router = Router();
  router.status.mutable_store()->set_is_up(false);
  router.status.mutable_store()->set_error("disk full\033[31m");
  router.status.mutable_store()->set_was_created(true);
  router.status.mutable_reload()->set_last_error_code(3);
  router.status.mutable_reload()->set_last_error("topology.yaml:3:5: no name");
  router.status.mutable_reload()->set_store_error("read-only");
  router.data_centers[0].set_effective_v2_ppm(0);
  router.data_centers[0].set_effective_reason("v2 is being built");
  EXPECT_THAT(
      Print(router),
      AllOf(HasSubstr("state.db, DOWN: disk full\\x1b[31m, created by this start\n"),
            HasSubstr("by file: FAILED, INVALID_ARGUMENT: topology.yaml:3:5: no name\n"),
            HasSubstr("\nnot stored    a restart would not know all that serves: read-only\n"),
            HasSubstr("\nams answers with 0%, not 12.5%: v2 is being built\n")));
}

TEST(StatusViewTest, WhatIsHeldHasItsFiguresAndTheCommandThatAcceptsIt) {
  RouterView router = Router();
  v1::TopologyChange* held = router.status.mutable_reload()->add_held();
  held->set_data_center("ams");
  held->set_outcome(v1::RELOAD_OUTCOME_HELD);
  held->set_reason("moves 23.4512% of the key space (pool default), above 10%");
  held->set_moved_pool("default");
  held->set_moved_ratio(0.234512);
  EXPECT_THAT(Print(router),
              AllOf(HasSubstr("by file: HELD, see below\n"), HasSubstr("  23.4512%  default\n"),
                    HasSubstr("ams: moves 23.4512% of the key space (pool default), above 10%\n"),
                    HasSubstr("`ringctl topology accept 0123456789abcdef --server "
                              "10.0.0.5:7401`")));
}

TEST(StatusViewTest, OrphansHaveWhatToDoAboutThem) {
  RouterView router = Router();
  v1::Migration& orphan = router.orphans.emplace_back();
  orphan.set_data_center("old");
  orphan.set_v2_ppm(500'000);
  orphan.set_revision(12);
  orphan.set_actor("ops@host");
  EXPECT_THAT(Print(router),
              AllOf(HasSubstr("ORPHAN   V2  REVISION  UPDATED               BY\n"
                              "old     50%        12  1970-01-01 00:00:00Z  ops@host\n"),
                    HasSubstr("`ringctl migration forget NAME`"),
                    HasSubstr("`ringctl migration rename NAME NEW`")));
}

TEST(StatusViewTest, ARouterThatStartsHasNoLists) {
  RouterView router = Router();
  router.status.set_phase(v1::ROUTER_PHASE_STARTING);
  router.status.mutable_reload()->clear_last_attempt_time();
  router.status.mutable_reload()->clear_last_success_time();
  router.data_centers.clear();
  router.incomplete_reason = "UNAVAILABLE: the router is starting";
  EXPECT_THAT(Print(router),
              AllOf(HasSubstr("phase         starting, up since"), HasSubstr("last reload   -\n"),
                    HasSubstr("last success  never\n"),
                    HasSubstr("\nNo list of data centers: UNAVAILABLE: the router is starting\n"),
                    Not(HasSubstr("DATA CENTER"))));
}

TEST(StatusViewTest, AClockThatIsBehindMakesNoNegativeAge) {
  EXPECT_THAT(Printed([](Output& output) {
                PrintStatus(Router(), absl::FromUnixSeconds(kStart - 5), output);
              }),
              HasSubstr("(0 min 0 s)\n"));
}

TEST(StatusViewTest, JsonHasEveryMemberWhateverItsValue) {
  EXPECT_EQ(Json([](JsonWriter& json) { WriteStatus({}, json); }),
            R"({"server":"","version":"","phase":"unknown","start_time":null,)"
            R"("store":{"name":"","is_up":false,"error":"","was_created":false},)"
            R"("topology":{"file":"","checksum":"","last_attempt_time":null,)"
            R"("last_trigger":"unknown","last_error_code":0,"last_error":"",)"
            R"("last_success_time":null,"generation":0,"held":[],"store_error":""},)"
            R"("data_center_count":0,"ring_memory_bytes":0,"data_centers":[],"orphans":[],)"
            R"("incomplete_reason":""})"
            "\n");
}

}  // namespace
}  // namespace ringshift
