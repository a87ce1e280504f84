#include "server/topology_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOkAndHolds;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

class TopologyFileTest : public ::testing::Test {
 protected:
  testing::TempDir dir_;
  const std::string path_ = dir_.File("topology.yaml");
};

TEST_F(TopologyFileTest, AFileIsReadThroughLinks) {
  dir_.Write("file", "all of it");
  std::filesystem::create_symlink("file", dir_.File("link"));
  std::filesystem::create_symlink("link", path_);
  EXPECT_THAT(ReadTopologyFile(path_), IsOkAndHolds(::testing::Eq("all of it")));
}

TEST_F(TopologyFileTest, AMissingFileIsNotFound) {
  EXPECT_THAT(ReadTopologyFile(path_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("topology " + path_)));
  EXPECT_EQ(ChecksumOfRead(ReadTopologyFile(path_)), "");
}

// A pipe that nobody writes to would be waited for; one that somebody does, be taken from.
TEST_F(TopologyFileTest, WhatIsNoRegularFileIsRefusedUnread) {
  const auto is_refused = StatusIs(
      absl::StatusCode::kFailedPrecondition,
      AllOf(HasSubstr(path_), HasSubstr("not a regular file"), HasSubstr("reads it again")));
  ASSERT_EQ(::mkfifo(dir_.File("pipe").c_str(), 0600), 0);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_GE(socket, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string socket_path = dir_.File("socket");
  ASSERT_LT(socket_path.size(), sizeof address.sun_path);
  std::copy(socket_path.begin(), socket_path.end(), address.sun_path);
  ASSERT_EQ(::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const std::string& target : {dir_.File("pipe"), socket_path, dir_.path(),
                                    std::string("/dev/null"), std::string("/dev/zero")}) {
    SCOPED_TRACE(target);
    std::filesystem::create_symlink(target, path_);
    EXPECT_THAT(ReadTopologyFile(path_), is_refused);
    std::filesystem::remove(path_);
  }
  ::close(socket);
}

TEST_F(TopologyFileTest, AFileThatStaysIsReadTwice) {
  dir_.Write("topology.yaml", "whole");
  int pauses = 0;
  EXPECT_THAT(ReadSettledTopologyFile(path_, [&pauses] { ++pauses; }),
              IsOkAndHolds(::testing::Eq("whole")));
  EXPECT_EQ(pauses, 1);
  EXPECT_THAT(ReadSettledTopologyFile(path_, nullptr), IsOkAndHolds(::testing::Eq("whole")));
}

TEST_F(TopologyFileTest, AFileThatIsBeingWrittenIsReadOnceItIsWhole) {
  std::string text = "a";
  dir_.Write("topology.yaml", text);
  const auto write_more = [&] {
    if (text.size() < 6) dir_.Write("topology.yaml", text += "b");
  };
  EXPECT_THAT(ReadSettledTopologyFile(path_, write_more), IsOkAndHolds(::testing::Eq("abbbbb")));
}

TEST_F(TopologyFileTest, AFileThatIsGoneForAMomentIsReadAndOneThatStaysAwayIsNotFound) {
  EXPECT_THAT(ReadSettledTopologyFile(path_, [&] { dir_.Write("topology.yaml", "back"); }),
              IsOkAndHolds(::testing::Eq("back")));
  std::filesystem::remove(path_);
  EXPECT_THAT(ReadSettledTopologyFile(path_, [] {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(path_)));
}

TEST_F(TopologyFileTest, AFileThatKeepsChangingIsUnavailable) {
  std::string text = "a";
  dir_.Write("topology.yaml", text);
  int pauses = 0;
  EXPECT_THAT(ReadSettledTopologyFile(path_,
                                      [&] {
                                        ++pauses;
                                        dir_.Write("topology.yaml", text += "b");
                                      }),
              StatusIs(absl::StatusCode::kAborted,
                       AllOf(HasSubstr(path_), HasSubstr("is being written; try again"))));
  EXPECT_EQ(pauses, 7);
}

}  // namespace
}  // namespace ringshift
