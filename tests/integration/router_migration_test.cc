// MigrationService of a real router, and what survives its death.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "migration/decision.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Optional;

absl::Status ToAbsl(const grpc::Status& status) {
  return {static_cast<absl::StatusCode>(status.error_code()),
          absl::string_view(status.error_message())};
}

v1::SetMigrationRequest SetRequest(const std::string& data_center, std::optional<int> ppm) {
  v1::SetMigrationRequest request;
  request.mutable_selector()->add_data_centers(data_center);
  if (ppm) request.set_v2_ppm(*ppm);
  return request;
}

v1::ForgetMigrationRequest ForgetRequest(const std::string& data_center) {
  v1::ForgetMigrationRequest request;
  request.set_data_center(data_center);
  return request;
}

v1::RenameMigrationRequest RenameRequest(const std::string& from, const std::string& to) {
  v1::RenameMigrationRequest request;
  request.set_data_center(from);
  request.set_new_data_center(to);
  return request;
}

// A router's admin port, as a client sees it.
class Admin {
 public:
  explicit Admin(const RouterProcess& router) : Admin(router.AdminChannel()) {}
  explicit Admin(const std::shared_ptr<grpc::Channel>& channel)
      : stub_(v1::MigrationService::NewStub(channel)) {}

  // Of the request's first data center.
  absl::StatusOr<v1::ChangedMigration> Set(const v1::SetMigrationRequest& request) {
    grpc::ClientContext context;
    v1::SetMigrationResponse response;
    const grpc::Status status = stub_->SetMigration(&context, request, &response);
    if (!status.ok()) return ToAbsl(status);
    return response.changes(0);
  }

  absl::StatusOr<v1::Migration> Get(const std::string& data_center) {
    grpc::ClientContext context;
    v1::GetMigrationRequest request;
    request.set_data_center(data_center);
    v1::GetMigrationResponse response;
    const grpc::Status status = stub_->GetMigration(&context, request, &response);
    if (!status.ok()) return ToAbsl(status);
    return response.migration();
  }

  absl::StatusOr<v1::Migration> Forget(const v1::ForgetMigrationRequest& request) {
    grpc::ClientContext context;
    v1::ForgetMigrationResponse response;
    const grpc::Status status = stub_->ForgetMigration(&context, request, &response);
    if (!status.ok()) return ToAbsl(status);
    return response.migration();
  }

  absl::StatusOr<v1::Migration> Rename(const v1::RenameMigrationRequest& request) {
    grpc::ClientContext context;
    v1::RenameMigrationResponse response;
    const grpc::Status status = stub_->RenameMigration(&context, request, &response);
    if (!status.ok()) return ToAbsl(status);
    return response.migration();
  }

  absl::StatusOr<v1::ListMigrationsResponse> List(int page_size, const std::string& page_token) {
    grpc::ClientContext context;
    v1::ListMigrationsRequest request;
    request.set_page_size(page_size);
    request.set_page_token(page_token);
    v1::ListMigrationsResponse response;
    const grpc::Status status = stub_->ListMigrations(&context, request, &response);
    if (!status.ok()) return ToAbsl(status);
    return response;
  }

 private:
  std::unique_ptr<v1::MigrationService::Stub> stub_;
};

class MigrationTest : public ::testing::Test {
 protected:
  MigrationTest() { router_.WaitUntilReady(); }

  // What every test that is refused something must find: nothing changed.
  void ExpectUnchanged(const v1::Migration& before) {
    ASSERT_OK_AND_ASSIGN(const v1::Migration now, admin_.Get(before.data_center()));
    EXPECT_EQ(now.DebugString(), before.DebugString());
  }

  TempDir dir_;
  RouterProcess router_{dir_.Write("topology.yaml", SmallTopology()), dir_.File("state.db")};
  Admin admin_{router_};
};

TEST_F(MigrationTest, ANewDataCenterIsAtZeroAndSaysSo) {
  ASSERT_OK_AND_ASSIGN(const v1::Migration migration, admin_.Get("ams"));
  EXPECT_TRUE(migration.has_v2_ppm());
  EXPECT_EQ(migration.v2_ppm(), 0);
  EXPECT_EQ(migration.salt(), "ams");
  EXPECT_EQ(migration.decision_algorithm(), kDecisionAlgorithm);
  EXPECT_GE(migration.revision(), 1);
  EXPECT_GT(migration.update_time().seconds(), 1'700'000'000);
  EXPECT_EQ(migration.actor(), "ringshiftd");
  EXPECT_EQ(migration.tier(), "canary");
  EXPECT_TRUE(migration.has_v1());
}

TEST_F(MigrationTest, AChangeIsReadBackWithWhoAndWhy) {
  v1::SetMigrationRequest request = SetRequest("ams", 125'000);
  request.set_reason("first \"step\"\nof two");
  request.set_requested_by("ann@ops");
  ASSERT_OK_AND_ASSIGN(const v1::ChangedMigration response, admin_.Set(request));
  EXPECT_TRUE(response.has_previous_v2_ppm());
  EXPECT_EQ(response.previous_v2_ppm(), 0);
  EXPECT_EQ(response.migration().v2_ppm(), 125'000);
  EXPECT_EQ(response.migration().reason(), request.reason());
  EXPECT_THAT(response.migration().actor(),
              MatchesRegex("ann@ops \\(ipv4:127\\.0\\.0\\.1:[0-9]+\\)"));
  ExpectUnchanged(response.migration());

  const std::optional<std::string> line =
      router_.process().WaitForStderr("msg=\"migration changed\"");
  ASSERT_TRUE(line);
  EXPECT_EQ(LogValue(*line, "data_center"), "ams");
  EXPECT_EQ(LogValue(*line, "from"), "0");
  EXPECT_EQ(LogValue(*line, "to"), "12.5");
  EXPECT_EQ(LogValue(*line, "revision"), std::to_string(response.migration().revision()));
  EXPECT_THAT(LogValue(*line, "actor"), HasSubstr("ann@ops"));
  EXPECT_THAT(*line, HasSubstr("reason=\"first \\\"step\\\"\\nof two\""));
}

TEST_F(MigrationTest, AnAnonymousChangeStillHasTheAddress) {
  ASSERT_OK_AND_ASSIGN(const v1::ChangedMigration response, admin_.Set(SetRequest("ams", 1)));
  EXPECT_THAT(response.migration().actor(), MatchesRegex("ipv4:127\\.0\\.0\\.1:[0-9]+"));
}

TEST_F(MigrationTest, ZeroIsAValueAndAbsenceIsAnError) {
  ASSERT_THAT(admin_.Set(SetRequest("ams", 500'000)), IsOk());
  ASSERT_OK_AND_ASSIGN(const v1::Migration before, admin_.Get("ams"));
  EXPECT_THAT(admin_.Set(SetRequest("ams", std::nullopt)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("v2_ppm is absent")));
  ExpectUnchanged(before);
  ASSERT_OK_AND_ASSIGN(const v1::ChangedMigration zero, admin_.Set(SetRequest("ams", 0)));
  EXPECT_EQ(zero.previous_v2_ppm(), 500'000);
  ASSERT_OK_AND_ASSIGN(const v1::Migration now, admin_.Get("ams"));
  EXPECT_TRUE(now.has_v2_ppm());
  EXPECT_EQ(now.v2_ppm(), 0);
}

TEST_F(MigrationTest, WhatIsOutOfRangeChangesNothing) {
  ASSERT_THAT(admin_.Set(SetRequest("ams", 500'000)), IsOk());
  ASSERT_OK_AND_ASSIGN(const v1::Migration before, admin_.Get("ams"));
  for (const int ppm : {-1, 1'000'001, 2'147'483'647, -2'147'483'647 - 1}) {
    EXPECT_THAT(admin_.Set(SetRequest("ams", ppm)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(std::to_string(ppm))))
        << ppm;
  }
  v1::SetMigrationRequest request = SetRequest("ams", 1);
  request.set_reason(std::string(1025, 'r'));
  EXPECT_THAT(admin_.Set(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("reason"), HasSubstr("1025"), HasSubstr("1024"))));
  request.clear_reason();
  request.set_requested_by(std::string(257, 'r'));
  EXPECT_THAT(admin_.Set(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("requested_by"), HasSubstr("257"), HasSubstr("256"))));
  EXPECT_THAT(admin_.Set(SetRequest("", 1)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("without a name")));
  EXPECT_THAT(admin_.Get(""),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center is empty")));
  EXPECT_THAT(admin_.Set(SetRequest("asm", 1)),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
  EXPECT_THAT(admin_.Get("asm"),
              StatusIs(absl::StatusCode::kNotFound, AllOf(HasSubstr("asm"), HasSubstr("ams"))));
  ExpectUnchanged(before);
}

TEST_F(MigrationTest, TheLongestReasonAndNameAreKept) {
  v1::SetMigrationRequest request = SetRequest("ams", 1);
  request.set_reason(std::string(1024, 'r'));
  request.set_requested_by(std::string(256, 'b'));
  ASSERT_OK_AND_ASSIGN(const v1::ChangedMigration response, admin_.Set(request));
  EXPECT_EQ(response.migration().reason(), request.reason());
  EXPECT_TRUE(response.migration().actor().starts_with(request.requested_by() + " ("));
}

TEST_F(MigrationTest, AStaleRevisionIsAborted) {
  ASSERT_OK_AND_ASSIGN(const v1::Migration seen, admin_.Get("ams"));
  v1::SetMigrationRequest request = SetRequest("ams", 100'000);
  request.set_base_revision(seen.revision());
  ASSERT_OK_AND_ASSIGN(const v1::ChangedMigration changed, admin_.Set(request));
  request.set_v2_ppm(900'000);
  EXPECT_THAT(admin_.Set(request),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr(std::to_string(seen.revision())),
                             HasSubstr(std::to_string(changed.migration().revision())))));
  ExpectUnchanged(changed.migration());
}

TEST_F(MigrationTest, OneDataCenterNeverTouchesAnother) {
  ASSERT_OK_AND_ASSIGN(const v1::Migration fra, admin_.Get("fra"));
  ASSERT_THAT(admin_.Set(SetRequest("ams", 1'000'000)), IsOk());
  ExpectUnchanged(fra);
}

TEST_F(MigrationTest, ADataCenterWithoutV1TakesNoShareButAll) {
  ASSERT_OK_AND_ASSIGN(const v1::Migration migration, admin_.Get("new"));
  EXPECT_FALSE(migration.has_v1());
  EXPECT_EQ(migration.v2_ppm(), 1'000'000);
  EXPECT_THAT(admin_.Set(SetRequest("new", 0)),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("no ring v1"), HasSubstr("100%"))));
  ExpectUnchanged(migration);
  EXPECT_THAT(admin_.Set(SetRequest("new", 1'000'000)), IsOk());
}

TEST_F(MigrationTest, AListComesInPages) {
  const auto names = [](const v1::ListMigrationsResponse& response) {
    std::vector<std::string> all;
    for (const v1::Migration& migration : response.migrations())
      all.push_back(migration.data_center());
    return all;
  };
  for (const int page_size : {0, 3, 1000, 1'000'000}) {
    ASSERT_OK_AND_ASSIGN(const v1::ListMigrationsResponse all, admin_.List(page_size, ""));
    EXPECT_THAT(names(all), ElementsAre("ams", "fra", "new")) << page_size;
    EXPECT_EQ(all.next_page_token(), "") << page_size;
  }
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationsResponse first, admin_.List(2, ""));
  EXPECT_THAT(names(first), ElementsAre("ams", "fra"));
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationsResponse last,
                       admin_.List(2, first.next_page_token()));
  EXPECT_THAT(names(last), ElementsAre("new"));
  EXPECT_EQ(last.next_page_token(), "");
}

TEST_F(MigrationTest, AListOfNonsenseIsRefused) {
  EXPECT_THAT(admin_.List(-1, ""), StatusIs(absl::StatusCode::kInvalidArgument,
                                            AllOf(HasSubstr("page_size"), HasSubstr("-1"))));
  for (const char* token : {"ams", "after:", "after:AMS", "2", "after:a b"}) {
    EXPECT_THAT(admin_.List(0, token),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")))
        << token;
  }
}

// The first answer that a router started on this store gives to Route, and to GetMigration. It is
// asked from the moment on which it listens.
TEST(RestartTest, AnAcknowledgedChangeSurvivesTheDeathOfTheRouter) {
  const TempDir dir;
  const std::string topology = dir.Write("topology.yaml", SmallTopology());
  const std::string store = dir.File("state.db");
  std::optional<v1::Migration> acknowledged;
  for (int round = 0; round < 12; ++round) {
    RouterProcess router(topology, store);
    if (acknowledged) {
      const auto routing = v1::RoutingService::NewStub(router.PublicChannel());
      v1::RouteRequest request;
      request.set_data_center("ams");
      request.set_key("key " + std::to_string(round));
      v1::RouteResponse first;
      grpc::Status status;
      do {
        grpc::ClientContext context;
        context.set_wait_for_ready(true);
        status = routing->Route(&context, request, &first);
      } while (status.error_code() == grpc::StatusCode::UNAVAILABLE);
      ASSERT_TRUE(status.ok()) << status.error_message();
      EXPECT_EQ(first.table().migration_revision(), acknowledged->revision());
      const bool v2 = AnswersV2(Decision("ams").Bucket(request.key()),
                                Share::FromPpm(acknowledged->v2_ppm()).value());
      EXPECT_EQ(first.ring_version(), v2 ? v1::RING_VERSION_V2 : v1::RING_VERSION_V1);
      ASSERT_OK_AND_ASSIGN(v1::Migration read, Admin(router).Get("ams"));
      for (v1::Migration* migration : {&read, &*acknowledged}) {  // but for the traffic
        migration->clear_measured_v2_ppm();
        migration->clear_requests_per_second();
        migration->clear_errors_per_second();
      }
      EXPECT_EQ(read.DebugString(), acknowledged->DebugString());
    }
    router.WaitUntilReady();
    Admin admin(router);
    // 1,000,000 and 0 too, whose first answer cannot be right by chance.
    const int ppm = round % 3 == 0 ? 1'000'000 : round % 3 == 1 ? 375'000 + round : 0;
    v1::SetMigrationRequest request = SetRequest("ams", ppm);
    request.set_reason("round " + std::to_string(round));
    ASSERT_OK_AND_ASSIGN(const v1::ChangedMigration response, admin.Set(request));
    router.process().Signal(SIGKILL);
    acknowledged = response.migration();
    ASSERT_THAT(router.process().WaitForExit(), Optional(128 + SIGKILL));
  }
}

TEST(RestartTest, ADataCenterThatComesBackHasTheShareThatItHad) {
  const TempDir dir;
  const std::string topology = dir.Write("topology.yaml", SmallTopology());
  const std::string store = dir.File("state.db");
  {
    RouterProcess router(topology, store);
    router.WaitUntilReady();
    ASSERT_THAT(Admin(router).Set(SetRequest("ams", 250'000)), IsOk());
  }
  {
    RouterProcess router(topology, store, {"--data-centers=fra"});
    router.WaitUntilReady();
    ASSERT_OK_AND_ASSIGN(const v1::Migration left_out, Admin(router).Get("ams"));
    EXPECT_FALSE(left_out.is_orphaned());  // it is left out on purpose
    EXPECT_EQ(left_out.v2_ppm(), 250'000);
    EXPECT_FALSE(left_out.has_effective_v2_ppm());
    EXPECT_THAT(left_out.effective_reason(), HasSubstr("--data-centers"));
    EXPECT_THAT(router.Get("/metrics"), HasSubstr("\nringshift_migration_orphans 0\n"));
    EXPECT_THAT(Admin(router).Forget(ForgetRequest("ams")),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("--data-centers")));
    EXPECT_THAT(Admin(router).Set(SetRequest("ams", 0)),
                StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"ams\"")));
    EXPECT_THAT(router.process().Stderr(), HasSubstr("data_center=ams share=25\n"));
  }
  RouterProcess router(topology, store);
  router.WaitUntilReady();
  ASSERT_OK_AND_ASSIGN(const v1::Migration migration, Admin(router).Get("ams"));
  EXPECT_EQ(migration.v2_ppm(), 250'000);
  EXPECT_FALSE(migration.is_orphaned());
}

// A log that is not read fills its pipe: with less than what these changes say.
TEST(StalledLogTest, ChangesAreMadeThoughNobodyReadsTheLog) {
  const TempDir dir;
  const std::string fifo = dir.File("log");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  Process router({"sh", "-c", "exec \"$0\" \"$@\" 2>" + fifo, Binary("ringshiftd"),
                  "--topology=" + dir.Write("topology.yaml", SmallTopology()),
                  "--store=sqlite:" + dir.File("state.db"), "--public-address=127.0.0.1:0",
                  "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"});
  std::ifstream log(fifo);
  std::string line;
  std::string admin_address;
  while (line.find("msg=\"ready\"") == std::string::npos && std::getline(log, line)) {
    if (line.find("msg=\"listening\"") != std::string::npos)
      admin_address = LogValue(line, "admin");
  }
  Admin admin(grpc::CreateChannel(admin_address, grpc::InsecureChannelCredentials()));
  constexpr int kChanges = 200;
  v1::SetMigrationRequest request = SetRequest("ams", 0);
  request.set_reason(std::string(1024, 'r'));
  for (int i = 1; i <= kChanges; ++i) {
    request.set_v2_ppm(i);
    ASSERT_THAT(admin.Set(request), IsOk());
  }
  // What there was room for, and then how many lines there was none for.
  int changes = 0;
  int dropped = 0;
  while (dropped == 0 && std::getline(log, line)) {
    if (line.find("data_center=ams") != std::string::npos) ++changes;
    if (line.find("lines were dropped") != std::string::npos) {
      dropped = std::stoi(LogValue(line, "lines"));
    }
    ASSERT_THAT(admin.Set(SetRequest("fra", 1)), IsOk());  // something to write
  }
  EXPECT_GT(changes, 0);
  EXPECT_LT(changes, kChanges);
  EXPECT_GE(changes + dropped, kChanges);
}

// With `ams` at 25 % and orphaned, `fra` and `new` served.
class OrphanTest : public ::testing::Test {
 protected:
  OrphanTest() {
    const std::string topology = dir_.Write("topology.yaml", SmallTopology());
    {
      RouterProcess router(topology, dir_.File("state.db"));
      router.WaitUntilReady();
      EXPECT_THAT(Admin(router).Set(SetRequest("ams", 250'000)), IsOk());
    }
    // It takes `ams` away without being asked.
    std::string without_ams = SmallTopology();
    const std::size_t ams = without_ams.find("  - name: ams");
    without_ams.erase(ams, without_ams.find("  - name: fra") - ams);
    router_.emplace(dir_.Write("topology.yaml", without_ams), dir_.File("state.db"),
                    std::vector<std::string>{"--max-reload-churn=100"});
    router_->WaitUntilReady();
    admin_.emplace(*router_);
  }

  TempDir dir_;
  std::optional<RouterProcess> router_;
  std::optional<Admin> admin_;
};

TEST_F(OrphanTest, AListHasOrphansToo) {
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationsResponse all, admin_->List(0, ""));
  ASSERT_EQ(all.migrations_size(), 3);
  EXPECT_EQ(all.migrations(0).data_center(), "ams");
  EXPECT_TRUE(all.migrations(0).is_orphaned());
  EXPECT_FALSE(all.migrations(1).is_orphaned());
  EXPECT_FALSE(all.migrations(2).is_orphaned());
}

TEST_F(OrphanTest, AnOrphanIsForgotten) {
  ASSERT_OK_AND_ASSIGN(const v1::Migration orphan, admin_->Get("ams"));
  v1::ForgetMigrationRequest request = ForgetRequest("ams");
  request.set_base_revision(orphan.revision() - 1);
  EXPECT_THAT(admin_->Forget(request),
              StatusIs(absl::StatusCode::kAborted, HasSubstr(std::to_string(orphan.revision()))));
  request.set_base_revision(orphan.revision());
  ASSERT_OK_AND_ASSIGN(const v1::Migration forgotten, admin_->Forget(request));
  EXPECT_EQ(forgotten.DebugString(), orphan.DebugString());
  EXPECT_THAT(admin_->Get("ams"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("fra, new")));
  EXPECT_THAT(admin_->Forget(ForgetRequest("ams")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("ams")));
  EXPECT_THAT(admin_->Forget(ForgetRequest("fra")),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\"fra\"")));
  EXPECT_THAT(admin_->Forget(ForgetRequest("")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center is empty")));
}

TEST_F(OrphanTest, ARenamedMigrationIsInForceAtOnce) {
  v1::RenameMigrationRequest request = RenameRequest("ams", "fra");
  request.set_requested_by("ann@ops");
  request.set_reason("ams is called fra now");
  ASSERT_OK_AND_ASSIGN(const v1::Migration renamed, admin_->Rename(request));
  EXPECT_EQ(renamed.data_center(), "fra");
  EXPECT_EQ(renamed.v2_ppm(), 250'000);
  EXPECT_EQ(renamed.effective_v2_ppm(), 250'000);
  EXPECT_EQ(renamed.salt(), "ams");
  EXPECT_EQ(renamed.reason(), request.reason());
  EXPECT_TRUE(renamed.actor().starts_with("ann@ops ("));
  ASSERT_OK_AND_ASSIGN(const v1::Migration read, admin_->Get("fra"));
  EXPECT_EQ(read.DebugString(), renamed.DebugString());
  EXPECT_THAT(admin_->Get("ams"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"ams\"")));

  const auto routing = v1::RoutingService::NewStub(router_->PublicChannel());
  for (int i = 0; i < 200; ++i) {
    v1::RouteRequest route;
    route.set_data_center("fra");
    route.set_key("key " + std::to_string(i));
    grpc::ClientContext context;
    v1::RouteResponse response;
    ASSERT_TRUE(routing->Route(&context, route, &response).ok());
    const bool v2 = AnswersV2(Decision("ams").Bucket(route.key()), Share::FromPpm(250'000).value());
    EXPECT_EQ(response.ring_version(), v2 ? v1::RING_VERSION_V2 : v1::RING_VERSION_V1);
  }
}

TEST_F(OrphanTest, AMigrationWithoutV1IsRequestedAsItWasAndAnswersAll) {
  ASSERT_OK_AND_ASSIGN(const v1::Migration renamed, admin_->Rename(RenameRequest("ams", "new")));
  EXPECT_EQ(renamed.v2_ppm(), 250'000);
  EXPECT_EQ(renamed.effective_v2_ppm(), 1'000'000);
  EXPECT_THAT(renamed.effective_reason(), HasSubstr("v1"));
  EXPECT_THAT(admin_->Set(SetRequest("new", 1'000'000)), IsOk());
  ASSERT_OK_AND_ASSIGN(const v1::Migration all, admin_->Get("new"));
  EXPECT_EQ(all.v2_ppm(), 1'000'000);
  EXPECT_EQ(all.effective_reason(), "");
}

TEST_F(OrphanTest, ANonsensicalRenamingIsRefused) {
  ASSERT_THAT(admin_->Set(SetRequest("fra", 1)), IsOk());
  EXPECT_THAT(admin_->Rename(RenameRequest("ams", "fra")),
              StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("fra")));
  EXPECT_THAT(admin_->Rename(RenameRequest("nowhere", "lon")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_THAT(admin_->Rename(RenameRequest("", "lon")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("data_center is empty")));
  EXPECT_THAT(admin_->Rename(RenameRequest("ams", "")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("new_data_center is empty")));
  EXPECT_THAT(admin_->Rename(RenameRequest("ams", "ams")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("both \"ams\"")));
  for (const std::string& name :
       {std::string("LON"), std::string("l on"), std::string("other"), std::string(64, 'a')}) {
    EXPECT_THAT(admin_->Rename(RenameRequest("ams", name)),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not the name")))
        << name;
  }
  v1::RenameMigrationRequest request = RenameRequest("ams", "lon");
  request.set_reason(std::string(1025, 'r'));
  EXPECT_THAT(admin_->Rename(request),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("reason"), HasSubstr("1025"), HasSubstr("1024"))));
  ASSERT_OK_AND_ASSIGN(const v1::Migration orphan, admin_->Get("ams"));
  EXPECT_EQ(orphan.v2_ppm(), 250'000);
}

}  // namespace
}  // namespace ringshift::testing
