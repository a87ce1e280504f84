// The ten minutes of README.md, as a reader types them.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/integration/process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Replaces every occurrence; a test failure if there is none.
void Replace(std::string& text, std::string_view from, std::string_view to) {
  std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Three ports that nobody has just now.
std::vector<std::string> FreeAddresses() {
  std::vector<int> sockets;
  std::vector<std::string> addresses;
  for (int i = 0; i < 3; ++i) {
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(bind(sockets.back(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(sockets.back(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    addresses.push_back("127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
  }
  for (const int fd : sockets) close(fd);
  return addresses;
}

TEST(ReadmeTest, ItsTenMinutesGoAsItSays) {
  const std::string readme = ReadFile(RINGSHIFT_SOURCE_DIR "/README.md");
  const std::size_t begin = readme.find("\n## Ten minutes");
  ASSERT_NE(begin, std::string::npos);
  const std::string tour = readme.substr(begin, readme.find("\n## ", begin + 1) - begin);

  const TempDir dir;
  const std::vector<std::string> ports = FreeAddresses();
  std::string script =
      "set -e -o pipefail\ntrap 'kill $(jobs -p) || true' EXIT\nexport RINGSHIFTD_PUBLIC_ADDRESS=" +
      ports[0] + " RINGSHIFTD_ADMIN_ADDRESS=" + ports[1] + " RINGSHIFTD_HTTP_ADDRESS=" + ports[2] +
      " RINGCTL_PUBLIC_SERVER=" + ports[0] + " RINGCTL_ADMIN_SERVER=" + ports[1] +
      "\ncd " RINGSHIFT_SOURCE_DIR "\n";
  const std::vector<std::string> commands = Blocks(tour, "sh");
  ASSERT_THAT(commands, SizeIs(7));
  for (const std::string& block : commands) script += block;
  Replace(script, "$PWD/build/release/bin", RINGSHIFT_BIN_DIR);
  Replace(script, "/tmp/tour", dir.path());
  const Completed done = testing::Run({"bash", "-c", script});
  ASSERT_EQ(done.exit_code, 0) << done.out << done.err;

  const std::vector<std::string> printed = Blocks(tour, "text");
  ASSERT_THAT(printed, SizeIs(2));
  std::istringstream explained(printed[0]);
  for (std::string line; std::getline(explained, line);) {
    if (line == "...") continue;
    EXPECT_THAT(done.out, HasSubstr(line + "\n"));
  }
  EXPECT_THAT(done.out, HasSubstr(printed[1]));
  EXPECT_THAT(done.out, HasSubstr("answered by  v2: bucket 71369 is below 125000"));
  EXPECT_THAT(done.out, HasSubstr("10,000 the same, 0 different"));
  // The share outlives the restart.
  EXPECT_THAT(done.out.substr(done.out.rfind("\nams  ")), HasSubstr("12.5%"));
}

TEST(ReadmeTest, WhatItInstallsIsThePrograms) {
  const std::string readme = ReadFile(RINGSHIFT_SOURCE_DIR "/README.md");
  const std::size_t begin = readme.find("\ncmake --install ") + 1;
  ASSERT_NE(begin, 0U);
  std::string command = readme.substr(begin, readme.find('\n', begin) - begin);
  const TempDir dir;
  Replace(command, "build/release", RINGSHIFT_BUILD_DIR);
  Replace(command, "/usr/local", dir.path());
  const Completed done = testing::Run({"bash", "-c", command});
  ASSERT_EQ(done.exit_code, 0) << done.out << done.err;

  std::set<std::string> installed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir.path())) {
    if (!entry.is_directory()) installed.insert(entry.path());
  }
  EXPECT_THAT(installed, ElementsAre(dir.File("bin/ringctl"), dir.File("bin/ringshiftd")));
  for (const std::string& program : installed) {
    EXPECT_EQ(testing::Run({program, "--version"}).exit_code, 0) << program;
  }
}

}  // namespace
}  // namespace ringshift::testing
