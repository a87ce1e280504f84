// docs/client.md as a reader follows it: the library is installed, and the projects of the page are
// built with it, outside of this tree, and run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/router_process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Far above what a loaded machine needs to compile a few small files.
constexpr std::chrono::seconds kBuildPatience{400};

// Its stdout; a test failure if it does not end with 0.
std::string Must(const std::vector<std::string>& argv, const std::string& input = "") {
  const Completed done = testing::Run(argv, input, kBuildPatience);
  EXPECT_EQ(done.exit_code, 0) << argv[0] << "\n" << done.out << done.err;
  return done.out;
}

// Replaces what must be there once.
void Replace(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
}

// Does what the page does to install the library, with another prefix and from the build under
// test.
void Install(const std::string& prefix) {
  const std::string steps = Blocks(ReadFile(RINGSHIFT_SOURCE_DIR "/docs/client.md"), "sh").front();
  const std::size_t at = steps.find("cmake --install ");
  ASSERT_NE(at, std::string::npos);
  std::string command = steps.substr(at);
  Replace(command, "build/release", RINGSHIFT_BUILD_DIR);
  Replace(command, "/usr/local", prefix);
  Must({"bash", "-c", command});
}

TEST(ClientDocumentTest, ItsProjectsAreBuiltWithTheInstalledLibraryAndWork) {
  const std::string page = ReadFile(RINGSHIFT_SOURCE_DIR "/docs/client.md");
  const std::vector<std::string> programs = Blocks(page, "cpp");
  const std::vector<std::string> project = Blocks(page, "cmake");
  const std::vector<std::string> commands = Blocks(page, "sh");
  ASSERT_THAT(programs, SizeIs(3));
  ASSERT_THAT(project, SizeIs(2));
  ASSERT_THAT(commands, SizeIs(2));

  const TempDir dir;
  Install(dir.File("prefix"));
  RouterProcess router(dir.Write("topology.yaml", SmallTopology()), dir.File("state.db"));
  router.WaitUntilReady();

  std::string build = "set -e\nexport CXX='" RINGSHIFT_CXX_COMPILER
                      "' CXXFLAGS='" RINGSHIFT_CXX_FLAGS " -Wall -Wextra -Werror'\ncd '" +
                      dir.path() + "'\n" + commands[1];
  Replace(build, "/usr/local", dir.File("prefix"));
  Replace(build, "127.0.0.1:7400", router.public_address());
  const std::string owners = "10\\.0\\.0\\..:443 .ring v1.\nthen 10\\.0\\.0\\..:443\n";
  dir.Write("CMakeLists.txt", project[0]);
  dir.Write("owner.cc", programs[0]);
  EXPECT_THAT(Must({"bash", "-c", build}), ContainsRegex(owners));

  dir.Write("CMakeLists.txt", project[0] + project[1]);
  dir.Write("owners.cc", programs[1]);
  dir.Write("fetch_test.cc", programs[2]);
  EXPECT_THAT(Must({"bash", "-c", build}), ContainsRegex(owners));
  const Completed refused =
      testing::Run({dir.File("build/owner"), "nowhere", "/img/1.jpg", router.public_address()});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, HasSubstr("NOT_FOUND: router " + router.public_address()));
  EXPECT_THAT(Must({dir.File("build/fetch_test")}), HasSubstr("3 tests"));
  EXPECT_THAT(
      Must({dir.File("build/owners"), "ams", router.public_address()}, "/img/1.jpg\n/img/2.jpg\n"),
      MatchesRegex("/img/1.jpg\t10\\.0\\.0\\..:443\n/img/2.jpg\t10\\.0\\.0\\..:443\n"));
}

// What find_package(ringshift VERSION) comes to in a project of one line.
Completed Find(const std::string& version) {
  const TempDir dir;
  Install(dir.File("prefix"));
  dir.Write("CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.25)\nproject(finds LANGUAGES CXX)\n"
            "find_package(ringshift " +
                version + " REQUIRED)\n");
  return testing::Run({"cmake", "-S", dir.path(), "-B", dir.File("build"),
                       "-DCMAKE_PREFIX_PATH=" + dir.File("prefix")},
                      "", kBuildPatience);
}

TEST(ClientPackageTest, OnlyACompatibleVersionIsFound) {
  EXPECT_EQ(Find("0.1").exit_code, 0);
  for (const std::string version : {"0.0", "0.2", "1.0"}) {
    const Completed done = Find(version);
    EXPECT_NE(done.exit_code, 0) << version;
    EXPECT_THAT(done.err, HasSubstr("compatible with requested version \"" + version + "\""));
  }
}

}  // namespace
}  // namespace ringshift::testing
