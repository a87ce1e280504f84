#include "server/migration_requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto IsInvalid(const std::string& text) {
  return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
}

TEST(MigrationRequestsTest, ASelectorHasExactlyOneField) {
  v1::Selector selector;
  EXPECT_THAT(ParseSelector(selector), IsInvalid("selector is empty"));
  selector.add_data_centers("ams");
  ASSERT_OK_AND_ASSIGN(const Selector named, ParseSelector(selector));
  EXPECT_THAT(named.data_centers, ElementsAre("ams"));
  selector.set_tier("canary");
  EXPECT_THAT(ParseSelector(selector), IsInvalid("more than one"));
  selector.clear_data_centers();
  ASSERT_OK_AND_ASSIGN(const Selector tier, ParseSelector(selector));
  EXPECT_EQ(tier.tier, "canary");
  selector.set_all(true);
  EXPECT_THAT(ParseSelector(selector), IsInvalid("more than one"));
  selector.clear_tier();
  ASSERT_OK_AND_ASSIGN(const Selector all, ParseSelector(selector));
  EXPECT_TRUE(all.all);
  EXPECT_THAT(all.data_centers, IsEmpty());
  selector.clear_all();
  selector.add_data_centers("");
  EXPECT_THAT(ParseSelector(selector), IsInvalid("without a name"));
}

TEST(MigrationRequestsTest, TheTextOfARollbackIsCutBetweenCharacters) {
  EXPECT_EQ(CutText(std::string(1024, 'r'), 1024), std::string(1024, 'r'));
  EXPECT_EQ(CutText(std::string(5000, 'r'), 1024), std::string(1024, 'r'));
  for (const std::string last : {"\u00e9", "\u20ac", "\U0001F525"}) {
    const std::string fits = std::string(1024 - last.size(), 'r') + last;
    EXPECT_EQ(CutText(fits + last, 1024), fits);
    EXPECT_EQ(CutText("r" + fits, 1024), "r" + std::string(1024 - last.size(), 'r'));
  }
}

TEST(MigrationRequestsTest, AnOrderHasWhoWhyAndTheRevisionThatWasSeen) {
  v1::SetMigrationRequest request;
  request.mutable_selector()->set_all(true);
  request.set_reason("first step");
  request.set_requested_by("ann@ops");
  ASSERT_OK_AND_ASSIGN(Order order, ParseOrder(request, "ipv4:10.0.0.1:9"));
  EXPECT_EQ(order.actor, "ann@ops (ipv4:10.0.0.1:9)");
  EXPECT_EQ(order.reason, "first step");
  EXPECT_FALSE(order.base_revision);
  request.set_base_revision(0);  // a value, too
  ASSERT_OK_AND_ASSIGN(order, ParseOrder(request, "peer"));
  EXPECT_EQ(order.base_revision, 0);
  request.set_base_revision(-1);
  EXPECT_THAT(ParseOrder(request, "peer"), IsInvalid("base_revision is -1; it must be 0 or more"));
  request.set_base_revision(0);
  request.set_reason(std::string(1025, 'r'));
  EXPECT_THAT(ParseOrder(request, "peer"), IsInvalid("reason has 1025 bytes"));
  // One that has neither a reason nor a revision.
  v1::ClearOverrideRequest clear;
  clear.mutable_selector()->set_all(true);
  clear.set_requested_by(std::string(257, 'r'));
  EXPECT_THAT(ParseOrder(clear, "peer"), IsInvalid("requested_by has 257 bytes"));
}

TEST(MigrationRequestsTest, AShareThatIsAbsentIsNoZero) {
  v1::OverrideShareRequest request;
  EXPECT_THAT(ParseShare(request), IsInvalid("v2_ppm is absent"));
  request.set_v2_ppm(0);
  ASSERT_OK_AND_ASSIGN(const Share share, ParseShare(request));
  EXPECT_EQ(share, Share::None());
  request.set_v2_ppm(1'000'001);
  EXPECT_THAT(ParseShare(request), IsInvalid("1000001"));
}

TEST(MigrationRequestsTest, ALimitOfChurnIsAPartOfAMillion) {
  v1::SetMigrationRequest request;
  ASSERT_OK_AND_ASSIGN(MigrationController::ShareRules rules, ParseShareRules(request));
  EXPECT_FALSE(rules.max_churn_ppm);
  EXPECT_FALSE(rules.accept_imbalance);
  for (const int ppm : {-1, 1'000'001}) {
    request.set_max_churn_ppm(ppm);
    EXPECT_THAT(ParseShareRules(request), IsInvalid(std::to_string(ppm)));
  }
  request.set_max_churn_ppm(0);
  request.set_accept_imbalance(true);
  ASSERT_OK_AND_ASSIGN(rules, ParseShareRules(request));
  EXPECT_EQ(rules.max_churn_ppm, 0);
  EXPECT_TRUE(rules.accept_imbalance);
}

TEST(MigrationRequestsTest, ARetirementNamesItsRingAndWaitsForAnHourUnlessItSaysOtherwise) {
  v1::RetireRingRequest request;
  EXPECT_THAT(ParseRetirement(request), IsInvalid("ring_version is 0"));
  request.set_ring_version(v1::RING_VERSION_V2);
  ASSERT_OK_AND_ASSIGN(Retirement retirement, ParseRetirement(request));
  EXPECT_EQ(retirement.version, RingVersion::kV2);
  EXPECT_EQ(retirement.min_age, std::chrono::hours(1));
  request.set_min_age_seconds(0);
  ASSERT_OK_AND_ASSIGN(retirement, ParseRetirement(request));
  EXPECT_EQ(retirement.min_age, std::chrono::seconds(0));
  request.set_min_age_seconds(-1);
  EXPECT_THAT(ParseRetirement(request), IsInvalid("min_age_seconds is -1"));
}

TEST(MigrationRequestsTest, APageOfTheHistoryBeginsBehindTheRowThatItsTokenHas) {
  MigrationChange last;
  last.revision = 17;
  last.data_center = "ams";
  v1::ListMigrationChangesRequest request;
  request.set_page_size(5);
  for (const std::string& name : {std::string("ams"), std::string()}) {  // of the default share
    last.data_center = name;
    request.set_page_token(HistoryPageToken(last));
    ASSERT_OK_AND_ASSIGN(const HistoryQuery query, ParseHistoryQuery(request));
    const HistoryPlace before = query.before.value();
    EXPECT_EQ(before.revision, 17);
    EXPECT_EQ(before.data_center, name);
    EXPECT_EQ(query.limit, 6);
  }
  for (const char* token :
       {"before:", "before:17", "before::ams", "before:0:ams", "before:-1:ams", "before:1x:ams",
        "before:17:AMS", "before:99999999999999999999:ams", "after:ams", "17"}) {
    request.set_page_token(token);
    EXPECT_THAT(ParseHistoryQuery(request), IsInvalid("page_token")) << token;
  }
}

}  // namespace
}  // namespace ringshift
