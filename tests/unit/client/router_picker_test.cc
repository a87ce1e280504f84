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

RouterPicker Picker(const std::vector<RouterState>& states, std::size_t start = 0) {
  RouterPicker picker(states.size(), start);
  for (std::size_t i = 0; i < states.size(); ++i) picker.SetState(i, states[i]);
  return picker;
}

// How often each router is picked.
std::map<std::size_t, int> Picks(RouterPicker& picker, int count) {
  std::map<std::size_t, int> picks;
  for (int i = 0; i < count; ++i) ++picks[picker.Pick({}).value()];
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
  EXPECT_THAT(picker.Pick({}), Optional(2));
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
  for (int i = 0; i < 10; ++i) EXPECT_THAT(picker.Pick(tried), Optional(1));
}

TEST(RouterPickerTest, CallsThatAreSentAgainTakeNoTurnAndAreSpreadEvenly) {
  RouterPicker picker = Picker({kServing, kServing, kServing});
  std::map<std::size_t, int> first;
  std::map<std::size_t, int> again;
  for (int i = 0; i < 300; ++i) {
    const std::size_t router = picker.Pick({}).value();
    ++first[router];
    if (router == 0) ++again[picker.Pick(std::vector<std::size_t>{0}).value()];
  }
  EXPECT_THAT(first, ElementsAre(Pair(0, 100), Pair(1, 100), Pair(2, 100)));
  EXPECT_THAT(again, ElementsAre(Pair(1, 50), Pair(2, 50)));
}

TEST(RouterPickerTest, ACallThatHasTriedAllGoesToAnyThatServes) {
  RouterPicker picker = Picker({kServing, kDown, kServing});
  const std::vector<std::size_t> tried = {0, 2};
  for (int i = 0; i < 10; ++i) EXPECT_THAT(picker.Pick(tried), Optional(AnyOf(0, 2)));
}

TEST(RouterPickerTest, WhileNoneServesOneThatIsBeingConnectedIsWaitedFor) {
  RouterPicker picker = Picker({kDown, kConnecting, kNotServing});
  EXPECT_EQ(picker.Pick({}), std::nullopt);
  EXPECT_TRUE(picker.IsConnecting());
}

TEST(RouterPickerTest, AllAreBeingConnectedAtFirst) {
  RouterPicker picker(2, 0);
  EXPECT_EQ(picker.Pick({}), std::nullopt);
  EXPECT_TRUE(picker.IsConnecting());
}

TEST(RouterPickerTest, WhereNoneServesThoseThatAreConnectedTakeTurns) {
  RouterPicker picker = Picker({kNotServing, kDown, kNotServing});
  EXPECT_THAT(Picks(picker, 100), ElementsAre(Pair(0, 50), Pair(2, 50)));
}

TEST(RouterPickerTest, WhereAllAreDownThereIsNone) {
  RouterPicker picker = Picker({kDown, kDown});
  EXPECT_EQ(picker.Pick({}), std::nullopt);
  EXPECT_FALSE(picker.IsConnecting());
}

}  // namespace
}  // namespace ringshift
