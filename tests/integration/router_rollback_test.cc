// The ways back of a real router: rollback, override, and rings that are retired and restored.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/locked_store.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// `count` data centers of tier `tier`, each of `nodes` nodes.
std::string Topology(const std::string& tier, int count, int nodes, int weight) {
  std::string yaml = "data_centers:\n";
  for (int dc = 0; dc < count; ++dc) {
    yaml += "  - name: dc-" + std::to_string(dc) + "\n    tier: " + tier + "\n    nodes:\n";
    for (int i = 0; i < nodes; ++i) {
      yaml += "      - {name: n" + std::to_string(i) + ", address: \"10.0." +
              std::to_string(dc / 250) + "." + std::to_string(i) + ":" + std::to_string(1 + dc) +
              "\", weight: " + std::to_string(weight) + "}\n";
    }
  }
  return yaml;
}

class RouterRollbackTest : public ::testing::Test {
 protected:
  using Stub = v1::MigrationService::Stub;

  void Start(const std::string& topology) {
    router_.emplace(dir_.Write("topology.yaml", topology), dir_.File("state.db"));
    router_->WaitUntilReady();
    client_.emplace(*router_);
    stub_ = v1::MigrationService::NewStub(router_->AdminChannel());
  }
  void Kill() {
    router_->process().Signal(SIGKILL);
    ASSERT_TRUE(router_->process().WaitForExit().has_value());
  }

  template <typename Response, typename Request>
  absl::StatusOr<Response> Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                             Response*),
                                const Request& request) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    Response response;
    const grpc::Status status = (stub_.get()->*method)(&context, request, &response);
    if (status.ok()) return response;
    return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                        absl::string_view(status.error_message()));
  }

  // Requests of all data centers.
  template <typename Request>
  static Request ForAll() {
    Request request;
    request.mutable_selector()->set_all(true);
    return request;
  }
  absl::StatusOr<v1::SetMigrationResponse> Set(int ppm) {
    auto request = ForAll<v1::SetMigrationRequest>();
    request.set_v2_ppm(ppm);
    return Call(&Stub::SetMigration, request);
  }
  absl::StatusOr<v1::RollbackMigrationResponse> Rollback() {
    auto request = ForAll<v1::RollbackMigrationRequest>();
    request.set_reason("origin overload");
    return Call(&Stub::RollbackMigration, request);
  }
  absl::StatusOr<v1::RetireRingResponse> RetireV1() {
    auto request = ForAll<v1::RetireRingRequest>();
    request.set_ring_version(v1::RING_VERSION_V1);
    request.set_min_age_seconds(0);
    return Call(&Stub::RetireRing, request);
  }
  absl::StatusOr<v1::RestoreRingResponse> Restore() {
    return Call(&Stub::RestoreRing, ForAll<v1::RestoreRingRequest>());
  }

  // Waits until `is_so`; a test failure if that takes too long.
  static void WaitUntil(const std::function<bool()>& is_so) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!is_so()) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  int RingsOf(int data_center) {
    const auto list = client_->ListDataCenters();
    return list.ok() ? list->data_centers(data_center).rings_size() : -1;
  }
  // Resident memory, in bytes.
  std::int64_t Resident() {
    std::ifstream status("/proc/" + std::to_string(router_->process().pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmRSS:")) return std::stol(line.substr(6)) * 1024;
    }
    ADD_FAILURE() << "no VmRSS";
    return 0;
  }

  TempDir dir_;
  std::optional<RouterProcess> router_;
  std::optional<RouterClient> client_;
  std::unique_ptr<Stub> stub_;
};

TEST_F(RouterRollbackTest, ATierOfManyIsOneRevisionAndOneStep) {
  constexpr int kDataCenters = 300;
  Start(Topology("canary", kDataCenters, 3, 10));
  v1::SetMigrationRequest request;
  request.mutable_selector()->set_tier("canary");
  request.set_v2_ppm(10'000);
  ASSERT_OK_AND_ASSIGN(const auto set, Call(&Stub::SetMigration, request));
  ASSERT_EQ(set.changes_size(), kDataCenters);
  for (const v1::ChangedMigration& changed : set.changes()) {
    EXPECT_EQ(changed.migration().revision(), set.changes(0).migration().revision());
    EXPECT_EQ(changed.migration().effective_v2_ppm(), 10'000);
    EXPECT_EQ(changed.previous_v2_ppm(), 0);
  }
  // The history has them all under that revision, in pages that do not lose any.
  v1::ListMigrationChangesRequest page;
  page.set_page_size(77);
  int rows = 0;
  do {
    ASSERT_OK_AND_ASSIGN(const auto history, Call(&Stub::ListMigrationChanges, page));
    for (const v1::MigrationChange& change : history.changes()) {
      if (change.revision() == set.changes(0).migration().revision()) ++rows;
    }
    page.set_page_token(history.next_page_token());
  } while (!page.page_token().empty());
  EXPECT_EQ(rows, kDataCenters);
}

TEST_F(RouterRollbackTest, ARestartKeepsWhatIsRolledBackAtZeroAndFrozen) {
  Start(SmallTopology());
  ASSERT_THAT(client_->SetShare("ams", 500'000), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rolled_back, Rollback());
  EXPECT_EQ(rolled_back.durability(), v1::DURABILITY_DURABLE);
  EXPECT_EQ(rolled_back.store_error(), "");
  ASSERT_EQ(rolled_back.changes_size(), 2);
  EXPECT_EQ(rolled_back.changes(0).previous_v2_ppm(), 500'000);
  ASSERT_EQ(rolled_back.without_v1_size(), 1);
  EXPECT_EQ(rolled_back.without_v1(0), "new");
  Kill();
  Start(SmallTopology());
  ASSERT_OK_AND_ASSIGN(const v1::Migration migration, client_->GetMigration("ams"));
  EXPECT_TRUE(migration.is_frozen());
  EXPECT_EQ(migration.v2_ppm(), 0);
  EXPECT_EQ(migration.effective_v2_ppm(), 0);
  EXPECT_EQ(migration.reason(), "origin overload");
  EXPECT_THAT(client_->SetShare("ams", 10),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("frozen")));
  ASSERT_THAT(Call(&Stub::UnfreezeMigration, ForAll<v1::UnfreezeMigrationRequest>()), IsOk());
  EXPECT_THAT(client_->SetShare("ams", 10), IsOk());
}

TEST_F(RouterRollbackTest, AStoreThatIsLockedDoesNotHoldUpARollbackThatBecomesDurableLater) {
  Start(SmallTopology());
  ASSERT_THAT(client_->SetShare("ams", 500'000), IsOk());
  std::optional<std::thread> change;
  {
    const LockedStore locked(dir_.File("state.db"));
    // A change that waits for the store.
    change.emplace([this] { client_->SetShare("ams", 900'000).status().IgnoreError(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    // An override needs no store.
    v1::OverrideShareRequest request;
    request.mutable_selector()->add_data_centers("fra");
    request.set_v2_ppm(250'000);
    EXPECT_THAT(Call(&Stub::OverrideShare, request),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("reason is empty")));
    request.set_reason("one router alone");
    ASSERT_OK_AND_ASSIGN(const auto overridden, Call(&Stub::OverrideShare, request));
    EXPECT_EQ(overridden.migrations(0).v2_ppm(), 0);
    EXPECT_EQ(overridden.migrations(0).effective_v2_ppm(), 250'000);
    EXPECT_EQ(overridden.migrations(0).share_override().reason(), "one router alone");
    EXPECT_THAT(overridden.migrations(0).effective_reason(), HasSubstr("one router alone"));
    const auto start = std::chrono::steady_clock::now();
    ASSERT_OK_AND_ASSIGN(const auto rolled_back, Rollback());
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
    EXPECT_EQ(rolled_back.durability(), v1::DURABILITY_APPLIED_NOT_DURABLE);
    EXPECT_THAT(rolled_back.store_error(), HasSubstr("store"));
    EXPECT_TRUE(rolled_back.changes(0).migration().is_not_durable());
    EXPECT_EQ(rolled_back.changes(0).migration().effective_v2_ppm(), 0);
    EXPECT_THAT(router_->Get("/metrics"),
                HasSubstr("\nringshift_migration_durable{data_center=\"ams\"} 0\n"));
  }
  change->join();
  WaitUntil([this] { return !client_->GetMigration("ams")->is_not_durable(); });
  Kill();
  Start(SmallTopology());
  EXPECT_EQ(client_->GetMigration("ams")->v2_ppm(), 0);
  EXPECT_TRUE(client_->GetMigration("ams")->is_frozen());
}

TEST_F(RouterRollbackTest, ARollbackOvertakesAnUnfreezeThatWaitsForItsTurn) {
  Start(SmallTopology());
  ASSERT_OK_AND_ASSIGN(const auto first, Rollback());
  v1::UnfreezeMigrationRequest of_fra;
  of_fra.mutable_selector()->add_data_centers("fra");
  ASSERT_THAT(Call(&Stub::UnfreezeMigration, of_fra), IsOk());
  std::thread change;
  std::thread unfreeze;
  absl::Status unfrozen;
  {
    const LockedStore locked(dir_.File("state.db"));
    change = std::thread([this] { client_->SetShare("fra", 10'000).status().IgnoreError(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    unfreeze = std::thread([&] {
      v1::UnfreezeMigrationRequest request;
      request.mutable_selector()->add_data_centers("ams");
      unfrozen = Call(&Stub::UnfreezeMigration, request).status();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    ASSERT_THAT(Rollback(), IsOk());
  }
  change.join();
  unfreeze.join();
  EXPECT_THAT(unfrozen, StatusIs(absl::StatusCode::kAborted, HasSubstr("\"ams\" was rolled back")));
  WaitUntil([this] { return !client_->GetMigration("ams")->is_not_durable(); });
  EXPECT_TRUE(client_->GetMigration("ams")->is_frozen());
}

TEST_F(RouterRollbackTest, ARouterThatStopsBeforeTheStoreHasARollbackSaysWhatIsLost) {
  Start(SmallTopology());
  ASSERT_THAT(client_->SetShare("ams", 500'000), IsOk());
  const std::string lost =
      "msg=\"the rollback is not in the store and is lost with this stop: the share is back at the "
      "next start\" data_center=";
  {
    const LockedStore locked(dir_.File("state.db"));
    ASSERT_OK_AND_ASSIGN(const auto rolled_back, Rollback());
    EXPECT_EQ(rolled_back.durability(), v1::DURABILITY_APPLIED_NOT_DURABLE);
    router_->process().Signal(SIGTERM);
    ASSERT_EQ(router_->process().WaitForExit(), 0);
  }
  const std::string log = router_->process().Stderr();
  EXPECT_THAT(log, AllOf(ContainsRegex("level=error " + lost + "ams share=50\n"),
                         ContainsRegex("level=error " + lost + "fra share=0\n")));
  EXPECT_EQ(log.find(lost + "ams"), log.rfind(lost + "ams"));
  EXPECT_THAT(log, Not(HasSubstr(lost + "new")));
  Start(SmallTopology());
  EXPECT_EQ(client_->GetMigration("ams")->v2_ppm(), 500'000);

  ASSERT_OK_AND_ASSIGN(const auto saved, Rollback());
  EXPECT_EQ(saved.durability(), v1::DURABILITY_DURABLE);
  router_->process().Signal(SIGTERM);
  ASSERT_EQ(router_->process().WaitForExit(), 0);
  EXPECT_THAT(router_->process().Stderr(), Not(HasSubstr("is lost with this stop")));
}

TEST_F(RouterRollbackTest, ARetiredRingGivesItsMemoryBackAndComesBackWithoutAnError) {
  Start(Topology("large", 1, 100, 300));  // ring v1 takes 38 MB
  ASSERT_THAT(Set(1'000'000), IsOk());
  [[maybe_unused]] const std::int64_t before = Resident();
  ASSERT_OK_AND_ASSIGN(const auto retired, RetireV1());
  [[maybe_unused]] const std::int64_t ring = retired.ring_memory_bytes();
  EXPECT_GE(ring, 100 * 300 * 160 * 8);
  EXPECT_EQ(retired.migrations(0).retired_ring(), v1::RING_VERSION_V1);
#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed
  WaitUntil(
      [&] { return static_cast<double>(before - Resident()) >= 0.95 * static_cast<double>(ring); });
#endif
  EXPECT_EQ(RingsOf(0), 1);
  Kill();
  Start(Topology("large", 1, 100, 300));
  EXPECT_EQ(RingsOf(0), 1);
  EXPECT_THAT(router_->Get("/metrics"), HasSubstr("\nringshift_ring_builds_total 1\n"));

  std::atomic<bool> done{false};
  std::atomic<int> errors{0};
  std::thread caller([&] {
    v1::RouteRequest request;
    request.set_data_center("dc-0");
    for (int i = 0; !done; ++i) {
      request.set_key("key " + std::to_string(i));
      if (!client_->Route(request).ok()) ++errors;
    }
  });
  ASSERT_THAT(Restore(), IsOk());
  WaitUntil([this] { return RingsOf(0) == 2; });
  done = true;
  caller.join();
  EXPECT_EQ(errors, 0);
  ASSERT_OK_AND_ASSIGN(const auto set, Set(0));
  EXPECT_EQ(set.changes(0).migration().effective_v2_ppm(), 0);
}

TEST_F(RouterRollbackTest, ARollbackOfARetiredDataCenterBuildsTheRingAndThenSwitches) {
  Start(Topology("large", 1, 100, 10));
  ASSERT_THAT(Set(1'000'000), IsOk());
  ASSERT_THAT(RetireV1(), IsOk());
  ASSERT_OK_AND_ASSIGN(const auto rolled_back, Rollback());
  // The ring may be there by then: it is small.
  EXPECT_THAT(rolled_back.durability(), AnyOf(v1::DURABILITY_NOT_IN_FORCE, v1::DURABILITY_DURABLE));
  EXPECT_EQ(rolled_back.changes(0).migration().v2_ppm(), 0);
  WaitUntil([this] { return client_->GetMigration("dc-0")->effective_v2_ppm() == 0; });
  EXPECT_EQ(client_->GetMigration("dc-0")->effective_reason(), "");
}

// From 10 % to all, v1 away and back, and down again, while four threads ask.
TEST_F(RouterRollbackTest, NoKeyGoesBackOnTheWayUpNorForwardOnTheWayDown) {
  Start(Topology("large", 1, 20, 10));
  constexpr std::size_t kKeys = 300;
  enum class Way { kUp, kDown, kOver };
  std::atomic<Way> way{Way::kUp};
  std::atomic<int> errors{0};
  std::atomic<int> wrong{0};
  std::atomic<int> rounds{0};
  std::vector<std::thread> callers;
  for (int t = 0; t < 4; ++t) {
    callers.emplace_back([&, t] {
      std::array<v1::RingVersion, kKeys> last{};
      v1::RouteRequest request;
      request.set_data_center("dc-0");
      for (Way before = Way::kUp; before != Way::kOver; ++rounds) {
        for (std::size_t key = 0; key < kKeys; ++key) {
          if (const Way now = way; now != before) {
            last.fill(v1::RING_VERSION_UNSPECIFIED);
            before = now;
          }
          request.set_key(std::to_string(t) + "/" + std::to_string(key));
          const auto answer = client_->Route(request);
          if (!answer.ok()) {
            ++errors;
            continue;
          }
          const v1::RingVersion version = answer->ring_version();
          const bool is_up = last[key] == v1::RING_VERSION_V1 && version == v1::RING_VERSION_V2;
          const bool is_down = last[key] == v1::RING_VERSION_V2 && version == v1::RING_VERSION_V1;
          if (before == Way::kUp && is_down && way == Way::kUp) ++wrong;
          if (before == Way::kDown && is_up) ++wrong;
          last[key] = version;
        }
      }
    });
  }
  const auto let_them_ask = [&] {
    const int begin = rounds;
    WaitUntil([&] { return rounds >= begin + 8; });
  };
  let_them_ask();
  for (const int ppm : {100'000, 400'000, 1'000'000}) {
    ASSERT_THAT(Set(ppm), IsOk());
    let_them_ask();
  }
  ASSERT_THAT(RetireV1(), IsOk());
  let_them_ask();
  ASSERT_THAT(Restore(), IsOk());
  WaitUntil([this] { return RingsOf(0) == 2; });
  let_them_ask();
  way = Way::kDown;
  for (const int ppm : {300'000, 0}) {
    ASSERT_THAT(Set(ppm), IsOk());
    let_them_ask();
  }
  way = Way::kOver;
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(errors, 0);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace ringshift::testing
