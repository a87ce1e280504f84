#include "client/router_picker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace ringshift {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;

constexpr RouterPicker::Time kNow{};

RouterPicker Picker(const std::vector<RouterState>& states, std::size_t start = 0) {
  RouterPicker picker(states.size(), start);
  for (std::size_t i = 0; i < states.size(); ++i) picker.SetState(i, states[i]);
  return picker;
}

// How often each router is picked.
std::map<std::size_t, int> Picks(RouterPicker& picker, int count) {
  std::map<std::size_t, int> picks;
  for (int i = 0; i < count; ++i) ++picks[picker.Pick({}, kNow).value()];
  return picks;
}

constexpr RouterState kConnecting = RouterState::kConnecting;
constexpr RouterState kServing = RouterState::kServing;
constexpr RouterState kNotServing = RouterState::kNotServing;
constexpr RouterState kDown = RouterState::kDown;

TEST(RouterPickerTest, RoutersThatServeTakeTurns) {
  RouterPicker picker = Picker({kServing, kServing, kServing});
  EXPECT_THAT(Picks(picker, 300), ElementsAre(Pair(0, 100), Pair(1, 100), Pair(2, 100)));
}

TEST(RouterPickerTest, TheFirstToBePickedIsTheOneThatTheStartSays) {
  RouterPicker picker = Picker({kServing, kServing, kServing}, /*start=*/5);
  EXPECT_THAT(picker.Pick({}, kNow), Optional(2));
}

TEST(RouterPickerTest, TheNeighbourOfOneThatIsGoneGetsNoMoreThanTheOthers) {
  RouterPicker picker = Picker({kServing, kDown, kServing, kNotServing, kServing, kConnecting});
  EXPECT_THAT(Picks(picker, 300), ElementsAre(Pair(0, 100), Pair(2, 100), Pair(4, 100)));
}

TEST(RouterPickerTest, OneThatComesBackGetsItsPartAndNoMore) {
  RouterPicker picker = Picker({kServing, kDown, kServing});
  Picks(picker, 1001);
  picker.SetState(1, kServing);
  EXPECT_THAT(Picks(picker, 300), ElementsAre(Pair(0, 100), Pair(1, 100), Pair(2, 100)));
}

TEST(RouterPickerTest, ACallThatIsSentAgainGoesToARouterThatItDoesNotKnow) {
  RouterPicker picker = Picker({kServing, kServing, kServing});
  const std::vector<std::size_t> tried = {0, 2};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(picker.Pick(tried, kNow), Optional(1));
}

TEST(RouterPickerTest, CallsThatAreSentAgainTakeNoTurnAndAreSpreadEvenly) {
  RouterPicker picker = Picker({kServing, kServing, kServing});
  std::map<std::size_t, int> first;
  std::map<std::size_t, int> again;
  for (int i = 0; i < 300; ++i) {
    const std::size_t router = picker.Pick({}, kNow).value();
    ++first[router];
    if (router == 0) ++again[picker.Pick(std::vector<std::size_t>{0}, kNow).value()];
  }
  EXPECT_THAT(first, ElementsAre(Pair(0, 100), Pair(1, 100), Pair(2, 100)));
  EXPECT_THAT(again, ElementsAre(Pair(1, 50), Pair(2, 50)));
}

TEST(RouterPickerTest, ACallThatHasTriedAllGoesToAnyThatServes) {
  RouterPicker picker = Picker({kServing, kDown, kServing});
  const std::vector<std::size_t> tried = {0, 2};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(picker.Pick(tried, kNow), Optional(AnyOf(0, 2)));
}

TEST(RouterPickerTest, WhileNoneServesOneThatIsBeingConnectedIsWaitedFor) {
  RouterPicker picker = Picker({kDown, kConnecting, kNotServing});
  EXPECT_EQ(picker.Pick({}, kNow), std::nullopt);
  EXPECT_TRUE(picker.IsConnecting());
}

TEST(RouterPickerTest, AllAreBeingConnectedAtFirst) {
  RouterPicker picker(2, 0);
  EXPECT_EQ(picker.Pick({}, kNow), std::nullopt);
  EXPECT_TRUE(picker.IsConnecting());
}

TEST(RouterPickerTest, WhereNoneServesThoseThatAreConnectedTakeTurns) {
  RouterPicker picker = Picker({kNotServing, kDown, kNotServing});
  EXPECT_THAT(Picks(picker, 100), ElementsAre(Pair(0, 50), Pair(2, 50)));
}

TEST(RouterPickerTest, WhereAllAreDownThereIsNone) {
  RouterPicker picker = Picker({kDown, kDown});
  EXPECT_EQ(picker.Pick({}, kNow), std::nullopt);
  EXPECT_FALSE(picker.IsConnecting());
}

// `router` is passed over for a second.
void Eject(RouterPicker& picker, std::size_t router) {
  for (int i = 0; i < Ejection::kTimeoutsInARow; ++i) picker.OnTimeout(router, kNow);
}

TEST(RouterPickerTest, OneThatAnswersNoCallIsPassedOverAndTheOthersShareItsCalls) {
  RouterPicker picker = Picker({kServing, kServing, kServing});
  Eject(picker, 1);
  EXPECT_THAT(Picks(picker, 300), ElementsAre(Pair(0, 150), Pair(2, 150)));
}

TEST(RouterPickerTest, OneThatWasPassedOverIsTriedWithOneCallAndThenWithAll) {
  RouterPicker picker = Picker({kServing, kServing});
  Eject(picker, 1);
  const auto picks = [&](std::chrono::milliseconds after) {
    std::map<std::size_t, int> count;
    for (int i = 0; i < 100; ++i) ++count[picker.Pick({}, kNow + after).value()];
    return count;
  };
  EXPECT_THAT(picks(std::chrono::milliseconds(999)), ElementsAre(Pair(0, 100)));
  EXPECT_THAT(picks(std::chrono::milliseconds(1'000)), ElementsAre(Pair(0, 99), Pair(1, 1)));
  picker.OnAnswer(1);
  EXPECT_THAT(picks(std::chrono::milliseconds(1'000)), ElementsAre(Pair(0, 50), Pair(1, 50)));
}

TEST(RouterPickerTest, WhereAllWouldBePassedOverNoneIs) {
  RouterPicker picker = Picker({kServing, kServing, kDown});
  Eject(picker, 0);
  Eject(picker, 1);
  EXPECT_THAT(Picks(picker, 100), ElementsAre(Pair(0, 50), Pair(1, 50)));
}

TEST(RouterPickerTest, ACallThatIsSentAgainIsNotSentToOneThatIsPassedOver) {
  RouterPicker picker = Picker({kServing, kServing, kServing});
  Eject(picker, 1);
  const std::vector<std::size_t> tried = {0};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(picker.Pick(tried, kNow), Optional(2));
}

TEST(RouterPickerTest, OneThatSaysAnewThatItServesIsNotPassedOverAnyMore) {
  RouterPicker picker = Picker({kServing, kServing});
  Eject(picker, 1);
  picker.SetState(1, kServing);  // nothing new
  EXPECT_THAT(Picks(picker, 100), ElementsAre(Pair(0, 100)));
  picker.SetState(1, kConnecting);
  picker.SetState(1, kServing);
  EXPECT_THAT(Picks(picker, 100), ElementsAre(Pair(0, 50), Pair(1, 50)));
}

TEST(RouterPickerTest, AnotherOneIsOneThatServesIsNotTriedAndIsNotPassedOver) {
  RouterPicker picker = Picker({kServing, kServing, kDown, kNotServing, kConnecting});
  EXPECT_TRUE(picker.HasOther({}, kNow));
  EXPECT_TRUE(picker.HasOther(std::vector<std::size_t>{0}, kNow));
  EXPECT_FALSE(picker.HasOther(std::vector<std::size_t>{0, 1}, kNow));
  Eject(picker, 1);
  EXPECT_FALSE(picker.HasOther(std::vector<std::size_t>{0}, kNow));
}

}  // namespace
}  // namespace ringshift
