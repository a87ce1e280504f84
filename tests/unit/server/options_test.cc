#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::variant<RouterOptions, EarlyExit> Parse(std::vector<const char*> flags) {
  flags.insert(flags.begin(), "ringshiftd");
  return ParseOptions(static_cast<int>(flags.size()), flags.data());
}

RouterOptions ParseGood(std::vector<const char*> flags) {
  const auto parsed = Parse(std::move(flags));
  const auto* options = std::get_if<RouterOptions>(&parsed);
  if (options != nullptr) return *options;
  ADD_FAILURE() << std::get<EarlyExit>(parsed).text;
  return {};
}

// The text of the refusal of these flags beside good ones; "" if they are taken.
std::string Refusal(std::vector<const char*> flags) {
  const auto parsed = Parse(std::move(flags));
  const auto* exit = std::get_if<EarlyExit>(&parsed);
  if (exit == nullptr) return "";
  EXPECT_EQ(exit->exit_code, 2);
  EXPECT_THAT(exit->text, HasSubstr("ringshiftd --help"));
  return exit->text;
}

TEST(OptionsTest, TopologyAndStoreSuffice) {
  const RouterOptions options = ParseGood({"--topology=t.yaml", "--store=sqlite:/var/s.db"});
  EXPECT_EQ(options.topology_path, "t.yaml");
  EXPECT_EQ(options.sqlite_path, "/var/s.db");
  EXPECT_EQ(options.public_address.ToString(), "0.0.0.0:7400");
  EXPECT_EQ(options.admin_address.ToString(), "127.0.0.1:7401");
  EXPECT_EQ(options.http_address.ToString(), "0.0.0.0:9464");
  EXPECT_TRUE(options.data_centers.empty());
  EXPECT_TRUE(options.reflection);
}

TEST(OptionsTest, EveryFlagIsTaken) {
  const RouterOptions options =
      ParseGood({"--topology", "t", "--store", "sqlite:s", "--public-address=[::1]:0",
                 "--admin-address=localhost:1", "--http-address=10.0.0.1:65535",
                 "--data-centers=ams,fra", "--no-reflection"});
  EXPECT_EQ(options.public_address.ToString(), "[::1]:0");
  EXPECT_EQ(options.admin_address.ToString(), "localhost:1");
  EXPECT_EQ(options.http_address.ToString(), "10.0.0.1:65535");
  EXPECT_THAT(options.data_centers, ElementsAre("ams", "fra"));
  EXPECT_FALSE(options.reflection);
}

TEST(OptionsTest, WhatIsMissingOrUnknownIsNamed) {
  EXPECT_THAT(Refusal({"--store=sqlite:s"}), HasSubstr("--topology"));
  EXPECT_THAT(Refusal({"--topology=t"}), HasSubstr("--store"));
  EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", "--sahre=1"}), HasSubstr("--sahre"));
  EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", "stray"}), HasSubstr("stray"));
}

TEST(OptionsTest, AFlagWithoutItsValueDoesNotTakeTheNextFlagForIt) {
  EXPECT_THAT(Refusal({"--topology=", "--store=sqlite:s"}),
              HasSubstr("--topology=: no value behind the ="));
}

TEST(OptionsTest, AStoreOfAnotherKindIsRefused) {
  for (const char* store : {"--store=state.db", "--store=sqlite:", "--store=etcd:x"}) {
    EXPECT_THAT(Refusal({"--topology=t", store}), HasSubstr("is not sqlite:PATH")) << store;
  }
}

TEST(OptionsTest, AMalformedAddressIsRefusedWithItsFlag) {
  EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", "--admin-address=7401"}),
              AllOf(HasSubstr("--admin-address"), HasSubstr("\"7401\""), HasSubstr("no port")));
}

TEST(OptionsTest, HelpAndVersionEndWell) {
  const auto help = Parse({"--help"});
  ASSERT_TRUE(std::holds_alternative<EarlyExit>(help));
  EXPECT_EQ(std::get<EarlyExit>(help).exit_code, 0);
  EXPECT_THAT(std::get<EarlyExit>(help).text,
              AllOf(HasSubstr("Example"), HasSubstr("--topology"), HasSubstr("0.0.0.0:7400"),
                    HasSubstr("MigrationService, health, reflection"), HasSubstr("128 + signal")));
  const auto version = Parse({"--version"});
  ASSERT_TRUE(std::holds_alternative<EarlyExit>(version));
  EXPECT_EQ(std::get<EarlyExit>(version).exit_code, 0);
  EXPECT_THAT(std::get<EarlyExit>(version).text, HasSubstr("ringshiftd 0."));
}

TEST(ListenAddressTest, AnythingButHostAndPortIsRefused) {
  for (const char* text : {"", "host", ":80", "h:", "h:x", "h:-1", "h:65536", "h: 80", "::1:80",
                           "h:80x", "h:99999999999"}) {
    EXPECT_THAT(ListenAddress::Parse(text),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("HOST:PORT")))
        << text;
  }
}

TEST(ListenAddressTest, OnlyLoopbackAddressesAreLoopback) {
  EXPECT_TRUE((ListenAddress{"127.0.0.1", 1}).IsLoopback());
  EXPECT_TRUE((ListenAddress{"::1", 1}).IsLoopback());
  EXPECT_TRUE((ListenAddress{"localhost", 1}).IsLoopback());
  EXPECT_TRUE((ListenAddress{"127.255.255.254", 1}).IsLoopback());
  EXPECT_TRUE((ListenAddress{"0:0::1", 1}).IsLoopback());
  EXPECT_FALSE((ListenAddress{"127.evil.example", 1}).IsLoopback());
  EXPECT_FALSE((ListenAddress{"127.0.0.1.example", 1}).IsLoopback());
  EXPECT_FALSE((ListenAddress{"::", 1}).IsLoopback());
  EXPECT_FALSE((ListenAddress{"0.0.0.0", 1}).IsLoopback());
  EXPECT_FALSE((ListenAddress{"10.0.0.1", 1}).IsLoopback());
}

TEST(ListenAddressTest, AnAddressOfAnotherMachineIsNotFree) {
  EXPECT_THAT(CheckFree({"192.0.2.1", 0}),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("192.0.2.1:0")));
  EXPECT_THAT(CheckFree({"no-such-host.invalid", 0}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no-such-host.invalid")));
}

}  // namespace
}  // namespace ringshift
