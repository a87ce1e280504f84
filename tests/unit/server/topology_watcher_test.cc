#include "server/topology_watcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/topology_file.h"

namespace ringshift {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A file, and a router that takes up what it is told to.
class TopologyWatcherTest : public ::testing::Test {
 protected:
  TopologyWatcherTest() : known_(TopologyChecksum("start")) {}

  void Look(std::optional<std::string> contents) {
    contents_ = std::move(contents);
    watcher_.Look();
  }

  std::optional<std::string> contents_;  // none: there is no file
  std::string known_;
  std::vector<std::string> taken_up_;
  TopologyWatcher watcher_{{[this]() -> absl::StatusOr<std::string> {
                              if (contents_) return *contents_;
                              return absl::NotFoundError("no file");
                            },
                            [this] { return known_; },
                            [this](std::string checksum) {
                              known_ = std::move(checksum);
                              const std::string seen = contents_.value_or("(none)");
                              EXPECT_EQ(known_, contents_ ? TopologyChecksum(seen) : "");
                              taken_up_.push_back(seen);
                            }}};
};

TEST_F(TopologyWatcherTest, WhatIsServedFromTheStartIsNotTakenUp) {
  for (int i = 0; i < 5; ++i) Look("start");
  EXPECT_THAT(taken_up_, IsEmpty());
}

TEST_F(TopologyWatcherTest, AnotherContentIsTakenUpOnceItIsSeenTwice) {
  Look("start");
  Look("new");
  EXPECT_THAT(taken_up_, IsEmpty());
  Look("new");
  EXPECT_THAT(taken_up_, ElementsAre("new"));
  for (int i = 0; i < 5; ++i) Look("new");
  EXPECT_THAT(taken_up_, ElementsAre("new"));
}

TEST_F(TopologyWatcherTest, AHalfIsNotTakenUpWhereTheRestFollows) {
  Look("start");
  Look("ha");
  Look("half and half");
  Look("half and half");
  EXPECT_THAT(taken_up_, ElementsAre("half and half"));
}

TEST_F(TopologyWatcherTest, OfManyContentsTheLastOneIsTakenUp) {
  for (int i = 0; i < 20; ++i) Look("content " + std::to_string(i));
  Look("content 19");
  EXPECT_THAT(taken_up_, ElementsAre("content 19"));
}

TEST_F(TopologyWatcherTest, WhatSomebodyElseHasTakenUpIsNotTakenUpAgain) {
  Look("start");
  Look("new");
  known_ = TopologyChecksum("new");  // a call has reloaded
  for (int i = 0; i < 5; ++i) Look("new");
  EXPECT_THAT(taken_up_, IsEmpty());
}

TEST_F(TopologyWatcherTest, AContentThatComesBackIsTakenUpAgain) {
  for (const char* content : {"a", "a", "b", "b", "a", "a"}) Look(content);
  EXPECT_THAT(taken_up_, ElementsAre("a", "b", "a"));
}

TEST_F(TopologyWatcherTest, AFileThatIsGoneForAMomentChangesNothing) {
  Look("start");
  Look(std::nullopt);
  Look("start");
  Look("start");
  EXPECT_THAT(taken_up_, IsEmpty());
}

TEST_F(TopologyWatcherTest, AFileThatStaysAwayIsToldOnceAndItsReturnToo) {
  Look("start");
  for (int i = 0; i < 5; ++i) Look(std::nullopt);
  EXPECT_THAT(taken_up_, ElementsAre("(none)"));
  for (int i = 0; i < 5; ++i) Look("start");
  EXPECT_THAT(taken_up_, ElementsAre("(none)", "start"));
}

TEST_F(TopologyWatcherTest, AFileThatWasNeverThereIsNotToldAtTheFirstLook) {
  Look(std::nullopt);
  Look("start");
  Look("start");
  EXPECT_THAT(taken_up_, IsEmpty());
}

TEST_F(TopologyWatcherTest, AnEmptyFileIsAContentToo) {
  Look("start");
  Look("");
  Look("");
  EXPECT_THAT(taken_up_, ElementsAre(""));
}

}  // namespace
}  // namespace ringshift
