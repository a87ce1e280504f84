#include "client/remote.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringshift {
namespace {

using ::testing::HasSubstr;

TEST(CheckServerTest, AcceptsHostsAddressesAndSockets) {
  for (const char* server : {"localhost:7400", "router-1.example.net:1", "10.0.0.5:65535",
                             "[::1]:7401", "[2001:db8::1]:7400", "unix:/run/ringshift.sock"}) {
    EXPECT_EQ(CheckServer(server), "") << server;
  }
}

TEST(CheckServerTest, RefusesWhatIsNoServer) {
  for (const char* server :
       {"", "localhost", ":7400", "localhost:", "localhost:0", "localhost:65536", "localhost:http",
        "localhost:-1", "localhost: 7400", "localhost:+7400", "::1:7400", "[]:7400", "a b:7400",
        "http://localhost:7400", "[::1]", "[::1:7400"}) {
    EXPECT_THAT(CheckServer(server), HasSubstr("is not a server: write HOST:PORT")) << server;
  }
  EXPECT_THAT(CheckServer("unix:"), HasSubstr("has no path"));
}

}  // namespace
}  // namespace ringshift
