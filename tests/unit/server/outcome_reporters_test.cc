#include "server/outcome_reporters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;

bool MayReport(const std::string& who, const std::string& peer) {
  const absl::StatusOr<OutcomeReporters> reporters = OutcomeReporters::Parse(who);
  EXPECT_THAT(reporters.status(), IsOk()) << who;
  return reporters.ok() && reporters->Check(peer).ok();
}

TEST(OutcomeReportersTest, NobodyMayReportByDefault) {
  EXPECT_THAT(OutcomeReporters().Check("ipv4:127.0.0.1:5"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("127.0.0.1"), HasSubstr("--outcome-reporters"))));
  EXPECT_FALSE(MayReport("none", "ipv4:127.0.0.1:5"));
}

TEST(OutcomeReportersTest, AnyIsEverybody) {
  for (const char* peer : {"ipv4:10.1.2.3:5", "ipv6:%5B2001:db8::1%5D:5", "unix:/run/x", ""}) {
    EXPECT_TRUE(MayReport("any", peer)) << peer;
  }
}

TEST(OutcomeReportersTest, LoopbackIsThisMachine) {
  for (const char* peer : {"ipv4:127.0.0.1:5", "ipv4:127.9.9.9:5", "ipv6:%5B::1%5D:5",
                           "ipv6:[::1]:5", "ipv6:%5B::ffff:127.0.0.1%5D:5"}) {
    EXPECT_TRUE(MayReport("loopback", peer)) << peer;
  }
  for (const char* peer : {"ipv4:128.0.0.1:5", "ipv6:%5B::2%5D:5", "ipv6:%5B7f00::1%5D:5",
                           "unix:/run/127.0.0.1", "", "ipv4:", "ipv4:127.0.0.1x:5"}) {
    EXPECT_FALSE(MayReport("loopback", peer)) << peer;
  }
}

TEST(OutcomeReportersTest, APrefixIsTheAddressesThatBeginWithItsBits) {
  const char* const kWho = "10.0.0.0/9,2001:db8::/33,192.0.2.7,2001:db8:ffff::1,203.0.113.128/25";
  for (const char* peer :
       {"ipv4:10.0.0.0:1", "ipv4:10.127.255.255:1", "ipv4:192.0.2.7:1", "ipv4:203.0.113.255:1",
        "ipv6:%5B2001:db8:7fff::1%5D:1", "ipv6:%5B2001:db8:ffff::1%5D:1",
        "ipv6:%5B::ffff:10.1.1.1%5D:1", "ipv6:%5B2001:db8::1%25eth0%5D:1"}) {
    EXPECT_TRUE(MayReport(kWho, peer)) << peer;
  }
  for (const char* peer :
       {"ipv4:10.128.0.0:1", "ipv4:9.255.255.255:1", "ipv4:192.0.2.8:1", "ipv4:203.0.113.127:1",
        "ipv6:%5B2001:db8:8000::1%5D:1", "ipv6:%5B2001:db8:ffff::2%5D:1", "ipv6:%5Ba00::1%5D:1"}) {
    EXPECT_FALSE(MayReport(kWho, peer)) << peer;
  }
  EXPECT_TRUE(MayReport("0.0.0.0/0", "ipv4:1.2.3.4:5"));
  EXPECT_FALSE(MayReport("0.0.0.0/0", "ipv6:%5B2001:db8::1%5D:5"));
  EXPECT_TRUE(MayReport("::/0", "ipv4:1.2.3.4:5"));
}

TEST(OutcomeReportersTest, WhatIsNoPrefixIsRefusedWithIt) {
  const struct {
    const char* text;
    const char* why;
  } kBad[] = {{"", "no IP address"},
              {"all", "\"all\" has no IP address"},
              {"10.0.0.0/8,", "\"\" has no IP address"},
              {"10.0.0.0/8, 10.1.0.0/16", "\" 10.1.0.0/16\" has no IP address"},
              {"localhost", "no IP address"},
              {"10.0.0/8", "no IP address"},
              {"10.0.0.0/33", "0 to 32"},
              {"10.0.0.0/", "no length"},
              {"10.0.0.0/-1", "no length"},
              {"10.0.0.0/8x", "no length"},
              {"2001:db8::/129", "0 to 128"},
              {"10.0.0.1/8", "bits behind its prefix"},
              {"2001:db8::1/64", "bits behind its prefix"},
              {"10.0.0.0/8,any", "\"any\" has no IP address"}};
  for (const auto& [text, why] : kBad) {
    EXPECT_THAT(
        OutcomeReporters::Parse(text).status(),
        StatusIs(absl::StatusCode::kInvalidArgument, AllOf(HasSubstr(why), HasSubstr("loopback"))))
        << text;
  }
}

}  // namespace
}  // namespace ringshift
