#include "client/router_address.h"

#include <gtest/gtest.h>

namespace ringshift {
namespace {

TEST(RouterAddressTest, HostsAddressesAndSocketsAreTaken) {
  for (const char* address : {"localhost:7400", "router-1.example.net:1", "10.0.0.5:65535",
                              "[::1]:7401", "[2001:db8::1]:7400", "unix:/run/ringshift.sock"}) {
    EXPECT_TRUE(IsRouterAddress(address)) << address;
  }
}

TEST(RouterAddressTest, WhatIsNoAddressOrHasNoPortIsRefused) {
  for (const char* address : {"",
                              "localhost",
                              ":7400",
                              "localhost:",
                              "localhost:0",
                              "localhost:65536",
                              "localhost:http",
                              "localhost:-1",
                              "localhost: 7400",
                              "localhost:+7400",
                              "::1:7400",
                              "[]:7400",
                              "a b:7400",
                              "http://localhost:7400",
                              "dns:///router:7400",
                              "[::1]",
                              "[::1:7400",
                              "unix:",
                              "\n:80",
                              "[\n]:80",
                              "local\x7Fhost:80"}) {
    EXPECT_FALSE(IsRouterAddress(address)) << address;
  }
}

}  // namespace
}  // namespace ringshift
