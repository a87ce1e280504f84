#include "ring/ring_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/testing/status_matchers.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Identity;
using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

// The bytes with the NUL shown as '|'.
std::string Shown(const RingIdentity& identity) {
  std::string bytes = identity.bytes();
  std::replace(bytes.begin(), bytes.end(), '\0', '|');
  return bytes;
}

TEST(RingIdentityTest, AnIpv4AddressIsItsText) {
  EXPECT_EQ(Shown(Identity("10.0.0.1:443")), "10.0.0.1|443");
}

TEST(RingIdentityTest, AnIpv6AddressIsCanonicalTextWithoutBrackets) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"[2001:db8::1]:443", "2001:db8::1|443"},
      {"[2001:DB8:0:0:0:0:0:1]:443", "2001:db8::1|443"},
      {"[2001:0db8::0001]:443", "2001:db8::1|443"},
      {"[::]:1", "::|1"},
      {"[::1]:1", "::1|1"},
      {"[1::]:1", "1::|1"},
      {"[1:2:3:4:5:6:7:8]:1", "1:2:3:4:5:6:7:8|1"},
      {"[0:2:3:4:5:6:7:8]:1", "0:2:3:4:5:6:7:8|1"},  // one zero group stays
      {"[1:2:3:4:5:6:7:0]:1", "1:2:3:4:5:6:7:0|1"},
      {"[1:0:0:4:5:0:0:8]:1", "1::4:5:0:0:8|1"},     // the first of two equal runs
      {"[1:0:0:4:0:0:0:8]:1", "1:0:0:4::8|1"},       // the longest run
      {"[::ffff:10.0.0.1]:1", "::ffff:10.0.0.1|1"},  // mapped: dotted
      {"[::ffff:a00:1]:1", "::ffff:10.0.0.1|1"},
      {"[::10.0.0.1]:1", "::a00:1|1"},  // compatible: not dotted
      {"[::ffff:0:10.0.0.1]:1", "::ffff:0:a00:1|1"},
      {"[64:ff9b::192.0.2.33]:1", "64:ff9b::c000:221|1"},
  };
  for (const auto& [address, shown] : cases) EXPECT_EQ(Shown(Identity(address)), shown) << address;
}

TEST(RingIdentityTest, MappedIpv6AndIpv4AreTwoIdentities) {
  EXPECT_NE(Identity("[::ffff:10.0.0.1]:443"), Identity("10.0.0.1:443"));
}

TEST(RingIdentityTest, AScopeIdIsNoPartOfTheIdentity) {
  EXPECT_EQ(Shown(Identity("[fe80::1%1]:443")), "fe80::1|443");
  EXPECT_EQ(Identity("[fe80::1%eth0]:443"), Identity("[fe80::1%2]:443"));
}

TEST(RingIdentityTest, AHostNameIsItsBytes) {
  EXPECT_EQ(Shown(Identity("Cache-7.Example.com:8080")), "Cache-7.Example.com|8080");
}

TEST(RingIdentityTest, APortIsCanonicalDecimal) {
  EXPECT_EQ(Shown(Identity("10.0.0.1:0443")), "10.0.0.1|443");
}

TEST(RingIdentityTest, MalformedAddressesAreRefusedWithTheirTextAndTheReason) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is not HOST:PORT"},
      {"10.0.0.1", "is not HOST:PORT"},
      {":443", "is not HOST:PORT"},
      {"10.0.0.1:", "has no port of 1 to 65535"},
      {"10.0.0.1:0", "has no port of 1 to 65535"},
      {"10.0.0.1:65536", "has no port of 1 to 65535"},
      {"10.0.0.1:4294967739", "has no port of 1 to 65535"},
      {"10.0.0.1:+443", "has no port of 1 to 65535"},
      {"10.0.0.1:443 ", "has no port of 1 to 65535"},
      {"10.0.0.1:0x1bb", "has no port of 1 to 65535"},
      {"10.0.0.256:443", "looks like an IPv4 address and is none"},
      {"10.0.0:443", "looks like an IPv4 address and is none"},
      {"010.0.0.1:443", "looks like an IPv4 address and is none"},
      {"2001:db8::1:443", "put it in brackets"},
      {"[2001:db8::1]443", "has no port of 1 to 65535"},
      {"[2001:db8::1:443", "is not HOST:PORT"},
      {"[2001:db8::g]:443", "no valid IPv6 address"},
      {"[10.0.0.1]:443", "no valid IPv6 address"},
      {"[]:443", "no valid IPv6 address"},
      {"[fe80::1%]:443", "malformed scope id"},
      {"[fe80::1%a b]:443", "malformed scope id"},
      {"host name:443", "is not HOST:PORT"},
      {"http://host:443", "is not HOST:PORT"},
      {std::string("ho\0st:443", 9), "ho\\x00st"},
  };
  for (const auto& [address, reason] : cases) {
    EXPECT_THAT(RingIdentity::Parse(address, IdentityStyle::kCanonical),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason)))
        << address;
  }
}

TEST(RingIdentityTest, AnErrorQuotesABoundedPartOfALongAddress) {
  const auto identity = RingIdentity::Parse(std::string(100'000, 'x'), IdentityStyle::kCanonical);
  EXPECT_THAT(identity, StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("xxx\"... is not")));
  EXPECT_LT(identity.status().message().size(), 400u);
}

TEST(RingIdentityTest, NginxStyleTakesTheServerDirectiveAsWritten) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"10.0.0.1:443", "10.0.0.1|443"},
      {"10.0.0.1", "10.0.0.1|"},
      {"[2001:DB8::1]:443", "[2001:DB8::1]|443"},
      {"[2001:db8::1]", "[2001:db8::1]|"},
      {"Cache-7.example.com:0443", "Cache-7.example.com|0443"},
      {"backend", "backend|"},
      {"unix:/run/cache.sock", "/run/cache.sock|"},
      {"UniX:/run/cache.sock", "/run/cache.sock|"},
  };
  for (const auto& [address, shown] : cases) {
    EXPECT_EQ(Shown(Identity(address, IdentityStyle::kNginx)), shown) << address;
  }
}

TEST(RingIdentityTest, NginxStyleRefusesWhatNginxCouldNotHave) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "has no host"},      {":80", "has no host"}, {"a b:80", "has a byte"},
      {"unix:", "has no path"}, {"a:0", "has a port"},  {"a:70000", "has a port"},
      {"a:", "has a port"},     {"a\n", "has a byte"},
  };
  for (const auto& [address, reason] : cases) {
    EXPECT_THAT(RingIdentity::Parse(address, IdentityStyle::kNginx),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(reason)))
        << address;
  }
}

TEST(RingIdentityTest, OrderIsIpv4ThenIpv6ThenNamesNumericallyThenByPort) {
  const std::vector<std::string> ordered = {
      "2.0.0.1:443",
      "10.0.0.1:80",
      "10.0.0.1:443",
      "10.0.0.1:10000",
      "10.0.0.2:80",
      "200.0.0.1:80",
      "[::1]:80",
      "[::2]:80",
      "[::10]:80",
      "[::ffff:1.2.3.4]:80",
      "[2001:db8::1]:443",
      "[2001:db8::1]:8443",
      "[fe80::1]:1",
      "A:80",
      "a:443",
      "a:80",
      "b:1",
  };
  std::vector<std::string> shuffled = ordered;
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(7));
  std::sort(shuffled.begin(), shuffled.end(),
            [](const std::string& a, const std::string& b) { return Identity(a) < Identity(b); });
  EXPECT_EQ(shuffled, ordered);
}

TEST(RingIdentityTest, ToStringReadsAsAnAddress) {
  EXPECT_EQ(Identity("10.0.0.1:443").ToString(), "10.0.0.1:443");
  EXPECT_EQ(Identity("[2001:DB8::1]:443").ToString(), "[2001:db8::1]:443");
  EXPECT_EQ(Identity("[2001:DB8::1]:443", IdentityStyle::kNginx).ToString(), "[2001:DB8::1]:443");
  EXPECT_EQ(Identity("backend", IdentityStyle::kNginx).ToString(), "backend");
}

}  // namespace
}  // namespace ringshift
