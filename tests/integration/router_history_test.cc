// The history of migrations, as a client of a real router sees it.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ringshift/v1/migration.grpc.pb.h"
#include "tests/integration/process.h"
#include "tests/integration/router_process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

class HistoryTest : public ::testing::Test {
 protected:
  HistoryTest() { Start(); }

  void Start(const std::vector<std::string>& more_flags = {}) {
    router_.emplace(topology_, dir_.File("state.db"), more_flags);
    router_->WaitUntilReady();
    stub_ = v1::MigrationService::NewStub(router_->AdminChannel());
  }

  v1::Migration Set(const std::string& data_center, int ppm, const std::string& reason) {
    grpc::ClientContext context;
    v1::SetMigrationRequest request;
    request.mutable_selector()->add_data_centers(data_center);
    request.set_v2_ppm(ppm);
    request.set_reason(reason);
    request.set_requested_by("ann@ops");
    v1::SetMigrationResponse response;
    const grpc::Status status = stub_->SetMigration(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.changes(0).migration();
  }

  absl::StatusOr<v1::ListMigrationChangesResponse> Changes(const std::string& data_center,
                                                           int page_size = 0,
                                                           const std::string& page_token = "") {
    grpc::ClientContext context;
    v1::ListMigrationChangesRequest request;
    request.set_data_center(data_center);
    request.set_page_size(page_size);
    request.set_page_token(page_token);
    v1::ListMigrationChangesResponse response;
    const grpc::Status status = stub_->ListMigrationChanges(&context, request, &response);
    if (!status.ok()) {
      return absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                          absl::string_view(status.error_message()));
    }
    return response;
  }

  TempDir dir_;
  const std::string topology_ = dir_.Write("topology.yaml", SmallTopology());
  std::optional<RouterProcess> router_;
  std::unique_ptr<v1::MigrationService::Stub> stub_;
};

TEST_F(HistoryTest, EveryChangeIsThereWithWhoWhenFromToAndWhy) {
  const std::time_t before = std::time(nullptr);
  const v1::Migration first = Set("ams", 125'000, "first step");
  const v1::Migration second = Set("ams", 0, "back");
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse history, Changes("ams"));
  EXPECT_EQ(history.next_page_token(), "");
  ASSERT_GE(history.changes_size(), 3);

  const v1::MigrationChange& newest = history.changes(0);
  EXPECT_EQ(newest.kind(), v1::MIGRATION_CHANGE_KIND_SHARE);
  EXPECT_EQ(newest.data_center(), "ams");
  EXPECT_EQ(newest.revision(), second.revision());
  EXPECT_EQ(newest.time().DebugString(), second.update_time().DebugString());
  EXPECT_GE(newest.time().seconds(), before);
  EXPECT_EQ(newest.actor(), second.actor());
  EXPECT_THAT(newest.actor(), HasSubstr("ann@ops (ipv4:127.0.0.1:"));
  EXPECT_EQ(newest.reason(), "back");
  EXPECT_EQ(newest.from_v2_ppm(), 125'000);
  EXPECT_TRUE(newest.has_to_v2_ppm());  // 0 is a value
  EXPECT_EQ(newest.to_v2_ppm(), 0);

  const v1::MigrationChange& older = history.changes(1);
  EXPECT_EQ(older.revision(), first.revision());
  EXPECT_EQ(older.reason(), "first step");
  EXPECT_TRUE(older.has_from_v2_ppm());
  EXPECT_EQ(older.from_v2_ppm(), 0);
  EXPECT_EQ(older.to_v2_ppm(), 125'000);

  // The router itself made the oldest one.
  const v1::MigrationChange& oldest = *history.changes().rbegin();
  EXPECT_EQ(oldest.kind(), v1::MIGRATION_CHANGE_KIND_CREATED);
  EXPECT_EQ(oldest.actor(), "ringshiftd");
  EXPECT_FALSE(oldest.has_from_v2_ppm());
  EXPECT_TRUE(oldest.has_to_v2_ppm());
  EXPECT_EQ(oldest.to_v2_ppm(), 0);
}

TEST_F(HistoryTest, TheTopologyIsPartOfIt) {
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse history, Changes("ams"));
  ASSERT_EQ(history.changes_size(), 2);
  EXPECT_EQ(history.changes(0).kind(), v1::MIGRATION_CHANGE_KIND_TOPOLOGY);
  EXPECT_FALSE(history.changes(0).has_from_v2_ppm());
  EXPECT_FALSE(history.changes(0).has_to_v2_ppm());
  EXPECT_NE(history.changes(0).detail(), "");
}

TEST_F(HistoryTest, PagesAreWholeInWhateverSizeTheyAreRead) {
  for (int i = 1; i <= 7; ++i) {
    Set("ams", i, "");
    Set("fra", 100 + i, "");
  }
  for (const char* data_center : {"", "ams"}) {
    ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse all, Changes(data_center));
    EXPECT_EQ(all.next_page_token(), "");
    for (const int page_size : {1, 2, 7, all.changes_size() - 1, all.changes_size(), 1'000'000}) {
      v1::ListMigrationChangesResponse read;
      std::string token;
      int pages = 0;
      do {
        ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse page,
                             Changes(data_center, page_size, token));
        EXPECT_LE(page.changes_size(), page_size);
        EXPECT_GT(page.changes_size(), 0);
        read.mutable_changes()->MergeFrom(page.changes());
        token = page.next_page_token();
      } while (!token.empty() && ++pages < 100);
      EXPECT_EQ(read.DebugString(), all.DebugString()) << data_center << " by " << page_size;
    }
  }
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse all, Changes(""));
  for (int i = 1; i < all.changes_size(); ++i) {
    EXPECT_GT(all.changes(i - 1).revision(), all.changes(i).revision());
  }
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse fra, Changes("fra"));
  for (const v1::MigrationChange& change : fra.changes()) EXPECT_EQ(change.data_center(), "fra");
}

TEST_F(HistoryTest, NonsenseIsRefused) {
  EXPECT_THAT(Changes("", -1), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("page_size"), HasSubstr("-1"))));
  for (const char* token : {"before:", "before:x", "before:0", "before:-1", "before:1x", "1",
                            "after:ams", "before:99999999999999999999"}) {
    EXPECT_THAT(Changes("", 0, token),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("page_token")))
        << token;
  }
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse nothing, Changes("nowhere"));
  EXPECT_EQ(nothing.changes_size(), 0);
}

TEST_F(HistoryTest, ItSurvivesTheRouterAndTheDataCenter) {
  Set("ams", 250'000, "before the end");
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse before, Changes("ams"));
  router_->process().Signal(SIGKILL);
  ASSERT_THAT(router_->process().WaitForExit(), Optional(128 + SIGKILL));
  Start({"--data-centers=fra"});
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse after, Changes("ams"));
  EXPECT_EQ(after.DebugString(), before.DebugString());

  router_->process().Signal(SIGKILL);
  ASSERT_THAT(router_->process().WaitForExit(), Optional(128 + SIGKILL));
  std::string without_ams = SmallTopology();
  const std::size_t ams_begin = without_ams.find("  - name: ams");
  without_ams.erase(ams_begin, without_ams.find("  - name: fra") - ams_begin);
  dir_.Write("topology.yaml", without_ams);
  Start({"--max-reload-churn=100"});
  grpc::ClientContext rename_context;
  v1::RenameMigrationRequest rename;
  rename.set_data_center("ams");
  rename.set_new_data_center("lon");
  rename.set_reason("moved");
  v1::RenameMigrationResponse renamed;
  ASSERT_TRUE(stub_->RenameMigration(&rename_context, rename, &renamed).ok());
  grpc::ClientContext forget_context;
  v1::ForgetMigrationRequest forget;
  forget.set_data_center("lon");
  forget.set_reason("closed");
  v1::ForgetMigrationResponse forgotten;
  ASSERT_TRUE(stub_->ForgetMigration(&forget_context, forget, &forgotten).ok());

  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse ams, Changes("ams"));
  EXPECT_EQ(ams.changes(0).kind(), v1::MIGRATION_CHANGE_KIND_RENAMED);
  EXPECT_EQ(ams.changes(0).reason(), "moved");
  EXPECT_EQ(ams.changes(0).from_v2_ppm(), 250'000);
  EXPECT_FALSE(ams.changes(0).has_to_v2_ppm());
  EXPECT_THAT(ams.changes(0).detail(), HasSubstr("lon"));
  ASSERT_OK_AND_ASSIGN(const v1::ListMigrationChangesResponse lon, Changes("lon"));
  ASSERT_EQ(lon.changes_size(), 2);
  EXPECT_EQ(lon.changes(0).kind(), v1::MIGRATION_CHANGE_KIND_FORGOTTEN);
  EXPECT_EQ(lon.changes(0).reason(), "closed");
  EXPECT_EQ(lon.changes(0).from_v2_ppm(), 250'000);
  EXPECT_EQ(lon.changes(1).kind(), v1::MIGRATION_CHANGE_KIND_CREATED);
  EXPECT_EQ(lon.changes(1).to_v2_ppm(), 250'000);
}

}  // namespace
}  // namespace ringshift::testing
