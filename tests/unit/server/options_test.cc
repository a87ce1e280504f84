#include "server/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/integration/process.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using ::ringshift::testing::StatusIs;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

std::variant<RouterOptions, EarlyExit> Parse(std::vector<const char*> flags,
                                             const Variables& variables = {}) {
  flags.insert(flags.begin(), "ringshiftd");
  return ParseOptions(static_cast<int>(flags.size()), flags.data(),
                      [&variables](const std::string& name) -> std::optional<std::string> {
                        const auto found = variables.find(name);
                        if (found == variables.end()) return std::nullopt;
                        return found->second;
                      });
}

RouterOptions ParseGood(std::vector<const char*> flags, const Variables& variables = {}) {
  const auto parsed = Parse(std::move(flags), variables);
  const auto* options = std::get_if<RouterOptions>(&parsed);
  if (options != nullptr) return *options;
  ADD_FAILURE() << std::get<EarlyExit>(parsed).text;
  return {};
}

// The text of the refusal of these settings; "" if they are taken.
std::string Refusal(std::vector<const char*> flags, const Variables& variables = {}) {
  const auto parsed = Parse(std::move(flags), variables);
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
  EXPECT_FALSE(options.store_must_exist);
  EXPECT_EQ(options.limits.max_moved_ratio, 0.1);
  EXPECT_EQ(options.limits.max_removed_ratio, 0.1);
  EXPECT_EQ(options.build_memory, std::nullopt);
  EXPECT_EQ(options.max_concurrent_calls, 4096u);
  EXPECT_FALSE(options.outcome_reporters.Check("ipv4:127.0.0.1:1").ok());
}

TEST(OptionsTest, EveryFlagIsTaken) {
  const RouterOptions options =
      ParseGood({"--topology", "t", "--store", "sqlite:s", "--public-address=[::1]:0",
                 "--admin-address=localhost:1", "--http-address=10.0.0.1:65535",
                 "--data-centers=ams,fra", "--no-reflection", "--store-must-exist",
                 "--max-reload-churn=2.5%", "--build-memory=8GiB", "--max-concurrent-calls=1"});
  EXPECT_EQ(options.public_address.ToString(), "[::1]:0");
  EXPECT_EQ(options.admin_address.ToString(), "localhost:1");
  EXPECT_EQ(options.http_address.ToString(), "10.0.0.1:65535");
  EXPECT_THAT(options.data_centers, ElementsAre("ams", "fra"));
  EXPECT_FALSE(options.reflection);
  EXPECT_TRUE(options.store_must_exist);
  EXPECT_EQ(options.limits.max_moved_ratio, 0.025);
  EXPECT_EQ(options.limits.max_removed_ratio, 0.025);
  EXPECT_EQ(options.build_memory, std::uint64_t{8} << 30);
  EXPECT_EQ(options.max_concurrent_calls, 1u);
}

TEST(OptionsTest, EveryFlagIsTakenFromTheEnvironmentToo) {
  const RouterOptions options = ParseGood({}, {{"RINGSHIFTD_TOPOLOGY", "t"},
                                               {"RINGSHIFTD_STORE", "sqlite:s"},
                                               {"RINGSHIFTD_STORE_MUST_EXIST", "true"},
                                               {"RINGSHIFTD_MAX_RELOAD_CHURN", "0"},
                                               {"RINGSHIFTD_BUILD_MEMORY", "512MiB"},
                                               {"RINGSHIFTD_MAX_CONCURRENT_CALLS", "1000000"},
                                               {"RINGSHIFTD_PUBLIC_ADDRESS", "[::1]:0"},
                                               {"RINGSHIFTD_ADMIN_ADDRESS", "localhost:1"},
                                               {"RINGSHIFTD_HTTP_ADDRESS", "10.0.0.1:65535"},
                                               {"RINGSHIFTD_DATA_CENTERS", "ams,fra"},
                                               {"RINGSHIFTD_NO_REFLECTION", "true"},
                                               {"RINGSHIFTD_PORT", "tcp://10.0.0.1:7400"}});
  EXPECT_EQ(options.topology_path, "t");
  EXPECT_EQ(options.sqlite_path, "s");
  EXPECT_TRUE(options.store_must_exist);
  EXPECT_EQ(options.max_concurrent_calls, 1'000'000u);
  EXPECT_EQ(options.limits.max_moved_ratio, 0);
  EXPECT_EQ(options.build_memory, 512u << 20);
  EXPECT_EQ(options.public_address.ToString(), "[::1]:0");
  EXPECT_EQ(options.admin_address.ToString(), "localhost:1");
  EXPECT_EQ(options.http_address.ToString(), "10.0.0.1:65535");
  EXPECT_THAT(options.data_centers, ElementsAre("ams", "fra"));
  EXPECT_FALSE(options.reflection);
}

class ConfigFileTest : public ::testing::Test {
 protected:
  // The flag that names a file with these lines.
  const char* Config(const std::string& text) {
    flag_ = "--config=" + dir_.Write("r.conf", text);
    return flag_.c_str();
  }

  testing::TempDir dir_;
  std::string flag_;
};

TEST_F(ConfigFileTest, EveryFlagIsTakenFromAFileToo) {
  const RouterOptions options =
      ParseGood({Config("topology=t\nstore=sqlite:s\nstore-must-exist=true\nmax-reload-churn=100\n"
                        "build-memory=1000000\npublic-address=[::1]:0\nadmin-address=localhost:"
                        "1\nhttp-address=10.0.0.1:65535\n"
                        "data-centers=ams,fra\nno-reflection=true\n")});
  EXPECT_EQ(options.topology_path, "t");
  EXPECT_EQ(options.sqlite_path, "s");
  EXPECT_TRUE(options.store_must_exist);
  EXPECT_EQ(options.limits.max_moved_ratio, 1);
  EXPECT_EQ(options.build_memory, 1'000'000u);
  EXPECT_EQ(options.public_address.ToString(), "[::1]:0");
  EXPECT_EQ(options.admin_address.ToString(), "localhost:1");
  EXPECT_EQ(options.http_address.ToString(), "10.0.0.1:65535");
  EXPECT_THAT(options.data_centers, ElementsAre("ams", "fra"));
  EXPECT_FALSE(options.reflection);
}

TEST_F(ConfigFileTest, TheCommandLineGoesBeforeTheEnvironmentAndThatBeforeTheFile) {
  const char* file = Config(
      "topology=file\nstore=sqlite:file\npublic-address=file:1\nno-reflection=true\n"
      "store-must-exist=true\ndata-centers=file\n");
  const RouterOptions options =
      ParseGood({file, "--topology=line", "--store-must-exist=false", "--data-centers=line"},
                {{"RINGSHIFTD_TOPOLOGY", "variable"},
                 {"RINGSHIFTD_STORE", "sqlite:variable"},
                 {"RINGSHIFTD_STORE_MUST_EXIST", "true"},
                 {"RINGSHIFTD_DATA_CENTERS", "variable"},
                 {"RINGSHIFTD_NO_REFLECTION", "false"}});
  EXPECT_EQ(options.topology_path, "line");
  EXPECT_EQ(options.sqlite_path, "variable");
  EXPECT_EQ(options.public_address.ToString(), "file:1");
  EXPECT_EQ(options.admin_address.ToString(), "127.0.0.1:7401");
  EXPECT_FALSE(options.store_must_exist);
  EXPECT_TRUE(options.reflection);
  EXPECT_THAT(options.data_centers, ElementsAre("line"));
}

TEST_F(ConfigFileTest, TheFileItselfMayBeNamedByTheEnvironment) {
  const std::string path = dir_.Write("r.conf", "topology=t\nstore=sqlite:s\n");
  EXPECT_EQ(ParseGood({}, {{"RINGSHIFTD_CONFIG", path}}).topology_path, "t");
  EXPECT_THAT(Refusal({Config("config=r.conf\n")}), HasSubstr("unknown setting \"config\""));
}

TEST_F(ConfigFileTest, ARefusalSaysWhereTheSettingIs) {
  const std::string good = "topology=t\nstore=sqlite:s\n";
  EXPECT_THAT(Refusal({Config(good + "admin-address=7401")}),
              HasSubstr("/r.conf:3: admin-address: \"7401\""));
  EXPECT_THAT(Refusal({Config(good + "sahre=1")}),
              HasSubstr("/r.conf:3: unknown setting \"sahre\""));
  EXPECT_THAT(Refusal({Config(good + "no-reflection=yes")}),
              HasSubstr("/r.conf:3: no-reflection: \"yes\" is not true or false"));
  EXPECT_THAT(Refusal({Config(good)}, {{"RINGSHIFTD_NO_REFLECTION", "1"}}),
              HasSubstr("RINGSHIFTD_NO_REFLECTION: \"1\" is not true or false"));
  EXPECT_THAT(Refusal({Config(good)}, {{"RINGSHIFTD_STORE", ""}}),
              HasSubstr("RINGSHIFTD_STORE: no value"));
  EXPECT_THAT(Refusal({Config(good)}, {{"RINGSHIFTD_MAX_RELOAD_CHURN", "10.00001"}}),
              HasSubstr("RINGSHIFTD_MAX_RELOAD_CHURN: percentage \"10.00001\""));
  EXPECT_THAT(Refusal({Config(good), "--max-reload-churn=101"}),
              HasSubstr("--max-reload-churn: percentage \"101\""));
  EXPECT_THAT(Refusal({Config(good), "--build-memory=8G"}),
              HasSubstr("--build-memory: \"8G\" is not a number of bytes"));
  EXPECT_THAT(Refusal({Config(good), "--outcome-reporters=localhost"}),
              HasSubstr("--outcome-reporters: \"localhost\" has no IP address"));
  EXPECT_THAT(Refusal({Config(good), "--store-must-exist=maybe"}),
              AllOf(HasSubstr("--store-must-exist"), HasSubstr("maybe")));
  EXPECT_THAT(Refusal({Config(good), "--data-centers=ams,,fra"}),
              HasSubstr("--data-centers: a name is empty"));
  EXPECT_THAT(Refusal({"--config=/nowhere/r.conf"}),
              HasSubstr("--config: /nowhere/r.conf: No such"));
}

TEST_F(ConfigFileTest, AFileThatIsOverruledMustBeRightToo) {
  EXPECT_THAT(Refusal({Config("topolgy=t\n"), "--topology=t", "--store=sqlite:s"}),
              HasSubstr("/r.conf:1: unknown setting \"topolgy\""));
}

TEST(OptionsTest, WhoMayReportOutcomesIsNamed) {
  const RouterOptions options = ParseGood(
      {"--topology=t.yaml", "--store=sqlite:s", "--outcome-reporters=10.0.0.0/8,2001:db8::/32"});
  EXPECT_TRUE(options.outcome_reporters.Check("ipv4:10.1.2.3:1").ok());
  EXPECT_FALSE(options.outcome_reporters.Check("ipv4:127.0.0.1:1").ok());
}

TEST(OptionsTest, TheEnvironmentIsThatOfTheProcess) {
  ASSERT_EQ(::setenv("RINGSHIFTD_TOPOLOGY", "t", 1), 0);
  ASSERT_EQ(::unsetenv("RINGSHIFTD_STORE"), 0);
  const char* const argv[] = {"ringshiftd", "--store=sqlite:s"};
  const auto parsed = ParseOptions(2, argv);
  EXPECT_EQ(::unsetenv("RINGSHIFTD_TOPOLOGY"), 0);
  ASSERT_TRUE(std::holds_alternative<RouterOptions>(parsed));
  EXPECT_EQ(std::get<RouterOptions>(parsed).topology_path, "t");
  EXPECT_EQ(ProcessEnvironment("RINGSHIFTD_STORE"), std::nullopt);
}

TEST(OptionsTest, AFlagThatIsThereTwiceIsRefused) {
  EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", "--topology=u"}),
              HasSubstr("--topology"));
}

TEST(OptionsTest, WhatIsMissingOrUnknownIsNamed) {
  EXPECT_THAT(Refusal({"--store=sqlite:s"}), HasSubstr("--topology"));
  EXPECT_THAT(Refusal({"--topology=t"}), HasSubstr("--store"));
  EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", "--sahre=1"}), HasSubstr("--sahre"));
  EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", "stray"}), HasSubstr("stray"));
}

TEST(OptionsTest, AStoreInEtcdIsTakenWithHowToComeThere) {
  const RouterOptions options = ParseGood(
      {"--topology=t", "--store=etcd://a:1,b:2?prefix=/x/", "--store-cache=c", "--store-ca=ca",
       "--store-cert=cert", "--store-key=key", "--store-user=eva", "--store-password-file=word"});
  EXPECT_EQ(options.sqlite_path, "");
  ASSERT_TRUE(options.etcd.has_value());
  EXPECT_EQ(options.etcd->address, (EtcdAddress{{"a:1", "b:2"}, "/x/"}));
  EXPECT_EQ(options.etcd->cache_path, "c");
  EXPECT_EQ(options.etcd->ca_file, "ca");
  EXPECT_EQ(options.etcd->certificate_file, "cert");
  EXPECT_EQ(options.etcd->key_file, "key");
  EXPECT_EQ(options.etcd->user, "eva");
  EXPECT_EQ(options.etcd->password_file, "word");
}

TEST(OptionsTest, SettingsOfTheStoreThatDoNotFitTogetherAreRefused) {
  const auto refusal = [](std::vector<const char*> flags) {
    flags.push_back("--topology=t");
    return Refusal(std::move(flags));
  };
  EXPECT_THAT(refusal({"--store=etcd://a:1"}), HasSubstr("--store-cache=FILE is required"));
  EXPECT_THAT(refusal({"--store=etcd://a", "--store-cache=c"}), HasSubstr("has no port"));
  EXPECT_THAT(refusal({"--store=sqlite:s", "--store-cache=c"}),
              HasSubstr("--store-cache is for --store=etcd://"));
  const char* const kEtcd = "--store=etcd://a:1";
  const char* const kCache = "--store-cache=c";
  EXPECT_THAT(refusal({kEtcd, kCache, "--store-user=eva"}), HasSubstr("need each other"));
  EXPECT_THAT(refusal({kEtcd, kCache, "--store-ca=ca", "--store-key=key"}),
              HasSubstr("--store-cert and --store-key need each other"));
  EXPECT_THAT(refusal({kEtcd, kCache, "--store-cert=cert", "--store-key=key"}),
              HasSubstr("--store-cert needs --store-ca"));
}

TEST(OptionsTest, AFlagWithoutItsValueDoesNotTakeTheNextFlagForIt) {
  EXPECT_THAT(Refusal({"--topology=", "--store=sqlite:s"}),
              HasSubstr("--topology=: no value behind the ="));
}

TEST(OptionsTest, AStoreOfAnotherKindIsRefused) {
  for (const char* store : {"--store=state.db", "--store=sqlite:", "--store=redis:x"}) {
    EXPECT_THAT(Refusal({"--topology=t", store}), HasSubstr("is not sqlite:PATH")) << store;
  }
  EXPECT_THAT(Refusal({"--topology=t", "--store=etcd:x"}),
              HasSubstr("does not begin with etcd://"));
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
              AllOf(HasSubstr("Example"), HasSubstr("--topology"),
                    HasSubstr("RINGSHIFTD_STORE_MUST_EXIST=true"), HasSubstr("--config"),
                    HasSubstr("0.0.0.0:7400"), HasSubstr("MigrationService, TopologyService"),
                    HasSubstr("128 + signal")));
  const auto version = Parse({"--version"});
  ASSERT_TRUE(std::holds_alternative<EarlyExit>(version));
  EXPECT_EQ(std::get<EarlyExit>(version).exit_code, 0);
  EXPECT_THAT(std::get<EarlyExit>(version).text, HasSubstr("ringshiftd 0."));
}

TEST(OptionsTest, ANumberOfCallsThatIsNoneIsRefusedWithItsRange) {
  for (const std::string text :
       {"0", "-1", "1000001", "many", "1e3", "1.5", "99999999999999999999", " 1"}) {
    const std::string flag = "--max-concurrent-calls=" + text;
    EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", flag.c_str()}),
                AllOf(HasSubstr("--max-concurrent-calls"), HasSubstr("1 to 1000000")));
  }
}

TEST(OptionsTest, AWarmWindowIsAMinuteTo30DaysWithItsUnit) {
  const std::pair<const char*, std::chrono::seconds> windows[] = {
      {"1m", std::chrono::minutes(1)},
      {"60s", std::chrono::minutes(1)},
      {"12h", std::chrono::hours(12)},
      {"30d", std::chrono::days(30)},
      {"2592000s", std::chrono::days(30)}};
  EXPECT_EQ(ParseGood({"--topology=t", "--store=sqlite:s"}).warm_window, std::chrono::hours(24));
  for (const auto& [text, window] : windows) {
    const std::string flag = std::string("--warm-window=") + text;
    const RouterOptions options = ParseGood({"--topology=t", "--store=sqlite:s", flag.c_str()});
    EXPECT_EQ(options.warm_window, window) << text;
  }
  for (const char* text : {"59s", "0h", "31d", "2592001s", "24", "h", "-1h", "1.5h", "1h ", "1hh",
                           "99999999999999999999s"}) {
    const std::string flag = std::string("--warm-window=") + text;
    EXPECT_THAT(Refusal({"--topology=t", "--store=sqlite:s", flag.c_str()}),
                HasSubstr("is not a time of 1m to 30d"))
        << text;
  }
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
