#include "client/ringctl/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>

namespace ringshift {
namespace {

using ::testing::HasSubstr;

TEST(CheckServerTest, RefusesWhatIsNoAddressAndSaysWhatToWrite) {
  EXPECT_EQ(CheckServer("localhost:7400"), "");
  for (const char* server : {"localhost", "unix:", "\n:80"}) {
    EXPECT_THAT(CheckServer(server), HasSubstr("is not a server: write HOST:PORT")) << server;
  }
  EXPECT_THAT(CheckServer("\n:80"), HasSubstr("\"\\n:80\""));
}

// Parses a command line with nothing set in the environment but what a test sets.
class RemoteOptionsTest : public ::testing::Test {
 protected:
  RemoteOptionsTest() { Clear(); }
  ~RemoteOptionsTest() override { Clear(); }

  RemoteOptions Parse(const std::string& arguments, RouterPort port = RouterPort::kAdmin,
                      std::string_view timeout = kDefaultTimeout) {
    CLI::App ringctl;
    RemoteOptions options;
    CLI::App* command = ringctl.add_subcommand("command");
    AddRemoteOptions(*command, options, port, timeout);
    command->callback([] {});
    ringctl.parse("command " + arguments);
    return options;
  }
  std::string ErrorOf(const std::string& arguments) {
    try {
      Parse(arguments);
      return "";
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
  }

 private:
  static void Clear() {
    for (const char* variable :
         {"RINGCTL_PUBLIC_SERVER", "RINGCTL_ADMIN_SERVER", "RINGCTL_TIMEOUT"}) {
      ::unsetenv(variable);
    }
  }
};

TEST_F(RemoteOptionsTest, WithoutAnythingTheDefaultsCount) {
  EXPECT_EQ(Parse("", RouterPort::kPublic).server, "127.0.0.1:7400");
  EXPECT_EQ(Parse("").server, "127.0.0.1:7401");
  EXPECT_EQ(Parse("").timeout, "5s");
  EXPECT_EQ(Parse("", RouterPort::kAdmin, "5m").timeout, "5m");
}

TEST_F(RemoteOptionsTest, TheEnvironmentCountsBeforeTheDefault) {
  ::setenv("RINGCTL_PUBLIC_SERVER", "public:1", 1);
  ::setenv("RINGCTL_ADMIN_SERVER", "admin:2", 1);
  ::setenv("RINGCTL_TIMEOUT", "7s", 1);
  EXPECT_EQ(Parse("", RouterPort::kPublic).server, "public:1");
  EXPECT_EQ(Parse("").server, "admin:2");
  EXPECT_EQ(Parse("", RouterPort::kAdmin, "5m").timeout, "7s");
  EXPECT_FALSE(Parse("").server_was_given);
}

TEST_F(RemoteOptionsTest, TheCommandLineCountsBeforeTheEnvironment) {
  ::setenv("RINGCTL_ADMIN_SERVER", "not a server", 1);
  ::setenv("RINGCTL_TIMEOUT", "not a duration", 1);
  const RemoteOptions options = Parse("--server given:3 --timeout 9s");
  EXPECT_EQ(options.server, "given:3");
  EXPECT_EQ(options.timeout, "9s");
  EXPECT_TRUE(options.server_was_given);
}

TEST_F(RemoteOptionsTest, AnEmptyVariableIsNone) {
  ::setenv("RINGCTL_ADMIN_SERVER", "", 1);
  ::setenv("RINGCTL_TIMEOUT", "", 1);
  EXPECT_EQ(Parse("").server, "127.0.0.1:7401");
  EXPECT_EQ(Parse("").timeout, "5s");
}

TEST_F(RemoteOptionsTest, AnErrorNamesTheVariable) {
  ::setenv("RINGCTL_ADMIN_SERVER", "localhost", 1);
  EXPECT_THAT(ErrorOf(""), HasSubstr("RINGCTL_ADMIN_SERVER: \"localhost\" is not a server"));
  ::setenv("RINGCTL_ADMIN_SERVER", "localhost:1", 1);
  ::setenv("RINGCTL_TIMEOUT", "5", 1);
  EXPECT_THAT(ErrorOf(""), HasSubstr("RINGCTL_TIMEOUT: \"5\" is not a duration"));
}

TEST_F(RemoteOptionsTest, WithTheOptionThatAsksNoRouterTheEnvironmentDoesNotCount) {
  ::setenv("RINGCTL_ADMIN_SERVER", "not a server", 1);
  ::setenv("RINGCTL_TIMEOUT", "not a duration", 1);
  CLI::App command;
  RemoteOptions options;
  const CLI::Option* topology = command.add_option("--topology");
  AddRemoteOptions(command, options, RouterPort::kAdmin, kDefaultTimeout, topology);
  EXPECT_NO_THROW(command.parse("--topology file"));
  EXPECT_EQ(options.server, "127.0.0.1:7401");
  EXPECT_THROW(command.parse(""), CLI::ValidationError);
}

TEST_F(RemoteOptionsTest, TheVariableOfTheOtherPortDoesNotCount) {
  ::setenv("RINGCTL_PUBLIC_SERVER", "not a server", 1);
  EXPECT_EQ(Parse("").server, "127.0.0.1:7401");
}

}  // namespace
}  // namespace ringshift
