// Two real routers on one etcd: they agree, and go on without it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "tests/integration/etcd/etcd_server.h"
#include "tests/integration/ringctl_testing.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

class RouterEtcdTest : public ::testing::Test {
 protected:
  RouterEtcdTest() : topology_(etcd_.dir().Write("topology.yaml", SmallTopology())) {}

  std::unique_ptr<RouterProcess> Start(const std::string& name) {
    auto router = std::make_unique<RouterProcess>(
        topology_, "etcd://" + etcd_.Endpoint(0) + "?prefix=/test/",
        std::vector<std::string>{"--store-cache=" + etcd_.dir().File(name + ".db")});
    router->WaitUntilReady();
    return router;
  }

  // Until the router has the share in force; false if that takes too long.
  static bool WaitForShare(const RouterClient& router, const std::string& data_center, int ppm) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (std::chrono::steady_clock::now() < deadline) {
      const absl::StatusOr<v1::Migration> migration = router.GetMigration(data_center);
      if (migration.ok() && migration->effective_v2_ppm() == ppm) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return false;
  }

  EtcdServer etcd_;
  const std::string topology_;
};

TEST_F(RouterEtcdTest, WhatIsSetOnOneRouterIsInForceOnTheOther) {
  const auto a = Start("a");
  const auto b = Start("b");
  const RouterClient on_a(*a);
  const RouterClient on_b(*b);
  const Completed set =
      Ringctl({"migration", "set", "--server=" + a->admin_address(), "--data-center=ams",
               "--percent=37.5", "--yes", "--accept-imbalance"});
  ASSERT_EQ(set.exit_code, 0) << set.out << set.err;
  ASSERT_TRUE(WaitForShare(on_b, "ams", 375'000));
  EXPECT_EQ(on_a.Owners("ams", 500), on_b.Owners("ams", 500));
  EXPECT_EQ(on_a.TableChecksum("ams"), on_b.TableChecksum("ams"));
  EXPECT_EQ(on_a.GetMigration("ams")->revision(), on_b.GetMigration("ams")->revision());

  // And the other way about, at once based on what the first one said.
  ASSERT_THAT(on_b.SetShare("ams", 500'000), IsOk());
  ASSERT_TRUE(WaitForShare(on_a, "ams", 500'000));
  EXPECT_TRUE(a->process().WaitForStderr("migration changed by another router"));
}

TEST_F(RouterEtcdTest, ARollbackOnOneRouterIsInForceAndFrozenOnTheOther) {
  const auto a = Start("a");
  const auto b = Start("b");
  const RouterClient on_a(*a);
  const RouterClient on_b(*b);
  ASSERT_THAT(on_a.SetShare("ams", 500'000), IsOk());
  ASSERT_TRUE(WaitForShare(on_b, "ams", 500'000));
  const Completed back = Ringctl({"migration", "rollback", "--server=" + b->admin_address(),
                                  "--data-center=ams", "--yes", "--reason=misses"});
  ASSERT_EQ(back.exit_code, 0) << back.out << back.err;
  ASSERT_TRUE(WaitForShare(on_a, "ams", 0));
  EXPECT_THAT(on_a.SetShare("ams", 500'000),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("frozen")));
}

TEST_F(RouterEtcdTest, WithoutEtcdBothGoOnAlsoAfterARestartAndCatchUpByThemselves) {
  auto a = Start("a");
  auto b = Start("b");
  {
    const RouterClient on_a(*a);
    ASSERT_THAT(on_a.SetShare("ams", 375'000), IsOk());
    ASSERT_TRUE(WaitForShare(RouterClient(*b), "ams", 375'000));
  }
  const std::map<std::string, std::string> owners = RouterClient(*a).Owners("ams", 500);
  std::atomic<bool> ends = false;
  std::atomic<int> routed = 0;
  std::thread traffic([&] {
    const RouterClient on_a(*a);
    while (!ends) {
      routed += static_cast<int>(on_a.Owners("ams", 10).size());  // fails where one does
    }
  });
  etcd_.Kill(0);
  const auto is_down = [](const v1::GetStatusResponse& status) { return !status.store().is_up(); };
  const v1::GetStatusResponse down = RouterClient(*a).WaitFor(is_down);
  EXPECT_THAT(down.store().error(), HasSubstr(etcd_.Endpoint(0)));
  EXPECT_THAT(a->Get("/readyz"), AllOf(HasSubstr("ready"), HasSubstr("the store is stale: etcd")));
  EXPECT_THAT(a->Get("/metrics"), HasSubstr("\nringshift_store_stale 1\n"));
  EXPECT_THAT(RouterClient(*a).SetShare("ams", 500'000),
              StatusIs(StatusCode::kUnavailable, HasSubstr("see to etcd and try again")));

  // A router that is killed meanwhile comes back with what it knew.
  b->process().Signal(SIGKILL);
  ASSERT_TRUE(b->process().WaitForExit());
  b = Start("b");
  EXPECT_EQ(RouterClient(*b).Owners("ams", 500), owners);
  EXPECT_EQ(RouterClient(*b).GetMigration("ams")->effective_v2_ppm(), 375'000);
  EXPECT_EQ(RouterClient(*a).Owners("ams", 500), owners);
  // Also a rollback works: in memory first, and in the store when that is back.
  const Completed back = Ringctl({"migration", "rollback", "--server=" + b->admin_address(),
                                  "--data-center=fra", "--yes", "--reason=misses"});
  EXPECT_THAT(back.out + back.err, HasSubstr("fra"));

  etcd_.Start(0);
  for (const RouterProcess* const router : {a.get(), b.get()}) {
    RouterClient(*router).WaitFor(
        [](const v1::GetStatusResponse& status) { return status.store().is_up(); });
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!RouterClient(*a).GetMigration("fra")->is_frozen() &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(RouterClient(*a).GetMigration("fra")->is_frozen());
  ASSERT_THAT(RouterClient(*b).SetShare("ams", 500'000), IsOk());
  EXPECT_TRUE(WaitForShare(RouterClient(*a), "ams", 500'000));
  EXPECT_EQ(a->Get("/readyz"), "ready\n");
  ends = true;
  traffic.join();
  EXPECT_GT(routed, 0);
}

TEST_F(RouterEtcdTest, ARestoredBackupIsTakenAndCounted) {
  const auto a = Start("a");
  const RouterClient on_a(*a);
  ASSERT_THAT(on_a.SetShare("ams", 100'000), IsOk());
  const std::string backup = etcd_.Backup("backup");
  ASSERT_THAT(on_a.SetShare("ams", 900'000), IsOk());
  etcd_.Kill(0);
  etcd_.Restore(backup);
  ASSERT_TRUE(WaitForShare(on_a, "ams", 100'000));
  on_a.WaitFor([](const v1::GetStatusResponse& status) { return status.store().is_up(); });
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (a->Get("/metrics").find("\nringshift_store_revision_regressions_total 1\n") ==
             std::string::npos &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_THAT(a->Get("/metrics"), HasSubstr("\nringshift_store_revision_regressions_total 1\n"));
}

TEST_F(RouterEtcdTest, WithoutEtcdAndWithoutACacheNothingIsServed) {
  etcd_.Kill(0);
  const Completed refused = ringshift::testing::Run(
      {Binary("ringshiftd"), "--topology=" + topology_, "--store=etcd://" + etcd_.Endpoint(0),
       "--store-cache=" + etcd_.dir().File("none.db"), "--public-address=127.0.0.1:0",
       "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("none.db"), HasSubstr("nothing is known of the state")));
}

}  // namespace
}  // namespace ringshift::testing
