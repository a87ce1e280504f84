// A router that is killed at any moment of a change: nothing that it acknowledged is lost, and of
// no change is there a half.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "migration/sqlite_store.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::Optional;

constexpr int kRounds = 200;
const std::vector<std::string> kDataCenters = {"ams", "fra", "lhr", "sfo"};

std::string Topology() {
  std::string yaml = "data_centers:\n";
  for (std::size_t i = 0; i < kDataCenters.size(); ++i) {
    yaml += "  - name: " + kDataCenters[i] + "\n    nodes:\n";
    for (const std::string node : {"1", "2"}) {
      yaml += "      - {name: cache-" + node + ", address: \"10.0." + std::to_string(i) + "." +
              node + ":443\", weight: 10}\n";
    }
  }
  return yaml;
}

struct State {
  std::int64_t revision = 0;
  int ppm = 0;
  friend bool operator==(const State&, const State&) = default;
};
using States = std::map<std::string, State>;

// One change of several data centers.
struct Change {
  std::vector<std::string> data_centers;  // sorted
  int ppm = 0;
};

class Client {
 public:
  explicit Client(const RouterProcess& router)
      : stub_(v1::MigrationService::NewStub(router.AdminChannel())) {}

  // The revision that the change got.
  absl::StatusOr<std::int64_t> Set(const Change& change) const {
    v1::SetMigrationRequest request;
    for (const std::string& name : change.data_centers) {
      request.mutable_selector()->add_data_centers(name);
    }
    request.set_v2_ppm(change.ppm);
    request.set_accept_imbalance(true);
    v1::SetMigrationResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Status status = stub_->SetMigration(&context, request, &response);
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          status.error_message());
    }
    std::vector<std::string> changed;
    for (const v1::ChangedMigration& one : response.changes()) {
      changed.push_back(one.migration().data_center());
      EXPECT_EQ(one.migration().revision(), response.changes(0).migration().revision());
      EXPECT_EQ(one.migration().v2_ppm(), change.ppm);
    }
    EXPECT_EQ(changed, change.data_centers);
    return response.changes(0).migration().revision();
  }

  States Get() const {
    v1::ListMigrationsResponse response;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Status status = stub_->ListMigrations(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    States states;
    for (const v1::Migration& migration : response.migrations()) {
      states[migration.data_center()] = {migration.revision(), migration.v2_ppm()};
      EXPECT_EQ(migration.effective_v2_ppm(), migration.v2_ppm());
    }
    return states;
  }

 private:
  const std::unique_ptr<v1::MigrationService::Stub> stub_;
};

TEST(RouterKillTest, WhatWasAcknowledgedIsThereAndNothingIsHalfApplied) {
  std::mt19937 random(20'260'731);
  const auto below = [&random](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  const TempDir dir;
  const std::string topology = dir.Write("topology.yaml", Topology());
  const std::string store = dir.File("state.db");

  int ppm = 0;  // never the same again
  const auto next_change = [&] {
    Change change;
    std::sample(kDataCenters.begin(), kDataCenters.end(), std::back_inserter(change.data_centers),
                2 + below(3), random);
    change.ppm = ++ppm;
    return change;
  };

  States known;                         // what must be there
  std::map<std::int64_t, Change> made;  // by revision
  std::optional<Change> in_flight;      // what may be there or not
  int applied = 0;
  int dropped = 0;
  for (int round = 0; round <= kRounds; ++round) {
    RouterProcess router(topology, store);
    router.WaitUntilReady();
    const Client client(router);
    const States present = client.Get();
    if (round == 0) {
      ASSERT_EQ(present.size(), kDataCenters.size());
      known = present;
    } else if (in_flight.has_value() && present != known) {
      std::int64_t newest = 0;
      for (const auto& [name, state] : known) newest = std::max(newest, state.revision);
      const std::int64_t revision = present.at(in_flight->data_centers.front()).revision;
      ASSERT_GT(revision, newest);
      for (const std::string& name : in_flight->data_centers) {
        known[name] = {revision, in_flight->ppm};
      }
      made[revision] = *in_flight;
      ++applied;
    } else if (in_flight.has_value()) {
      ++dropped;
    }
    for (const auto& [name, state] : known) {
      ASSERT_EQ(present.at(name).revision, state.revision) << name << " in round " << round;
      ASSERT_EQ(present.at(name).ppm, state.ppm) << name << " in round " << round;
    }
    if (round == kRounds) break;

    const std::chrono::microseconds delay(below(20'000));
    absl::Status ended;
    std::thread changes([&] {
      for (;;) {
        in_flight = next_change();
        const absl::StatusOr<std::int64_t> revision = client.Set(*in_flight);
        ended = revision.status();
        if (!ended.ok()) return;
        for (const std::string& name : in_flight->data_centers) {
          known[name] = {*revision, in_flight->ppm};
        }
        made[*revision] = *in_flight;
        in_flight.reset();
      }
    });
    std::this_thread::sleep_for(delay);
    router.process().Signal(SIGKILL);
    EXPECT_THAT(router.process().WaitForExit(), Optional(128 + SIGKILL));
    changes.join();
    ASSERT_TRUE(absl::IsUnavailable(ended)) << ended;
  }
  std::printf("%d changes acknowledged; of those that were not, %d made and %d not made\n",
              static_cast<int>(made.size()) - applied, applied, dropped);

  // The history has them all, and a row for each of their data centers.
  ASSERT_OK_AND_ASSIGN(const StoreContents contents, SqliteStore::ReadContents(store));
  std::map<std::int64_t, std::vector<std::string>> rows;
  for (const MigrationChange& change : contents.history) {
    if (change.kind == ChangeKind::kShare) rows[change.revision].push_back(change.data_center);
  }
  ASSERT_EQ(rows.size(), made.size());
  for (const auto& [revision, change] : made) EXPECT_EQ(rows[revision], change.data_centers);
}

}  // namespace
}  // namespace ringshift::testing
