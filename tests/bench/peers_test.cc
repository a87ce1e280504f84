// The suite `peers`, on a small ring beside the real pingora-ketama where cargo can build it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "tests/bench/figures.h"
#include "tests/bench/peer_process.h"
#include "tests/bench/peers_suite.h"
#include "tests/integration/process.h"
#include "tests/testing/document.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::bench {
namespace {

using ::ringshift::testing::Completed;
using ::ringshift::testing::IsOk;
using ::ringshift::testing::ReadFile;
using ::ringshift::testing::StatusIs;
using ::ringshift::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kBuildScript = RINGSHIFT_SOURCE_DIR "/tests/bench/peers/build.sh";
constexpr int kNoCargo = 3;

const std::vector<std::string> kOurs = {RINGSHIFT_BENCH_BINARY, "--ring-peer"};

TEST(PeersTest, TheSuiteHasEveryFigureThatItPromises) {
  const Completed built = testing::Run({kBuildScript}, "", std::chrono::seconds(300));
  if (built.exit_code == kNoCargo) GTEST_SKIP() << built.err;
  ASSERT_EQ(built.exit_code, 0) << built.err;
  const std::string program = built.out.substr(0, built.out.find('\n'));
  const TempDir dir;
  const std::string json_path = dir.File("figures.json");
  const Completed suite = testing::Run(
      {RINGSHIFT_BENCH_BINARY, "peers", "--smoke", "--json", json_path, "--pingora", program});
  ASSERT_EQ(suite.exit_code, 0) << suite.err;
  const std::string json = ReadFile(json_path);
  for (const char* name : {"peers_memory_ratio", "peers_peak_ratio", "peers_build_speedup",
                           "peers_lookup_speedup", "peers_hash_lookup_speedup"}) {
    EXPECT_THAT(json, HasSubstr(std::string("\"") + name + "\": "));
  }
  for (const char* name : {"peers_bytes_per_point", "peers_build_seconds", "peers_lookup_ns",
                           "peers_hash_lookup_ns"}) {
    EXPECT_THAT(json, HasSubstr(std::string("\"") + name + "\": "));
    EXPECT_THAT(json, HasSubstr(std::string("\"") + name + "_pingora\": "));
  }
}

// A peer whose ring is another one: it does not know the last node.
TEST(PeersTest, OneOtherOwnerEndsTheSuite) {
  const TempDir dir;
  const std::string liar = dir.Write(
      "liar", "#!/bin/sh\nn=$(($1 - 1)); shift\nexec " + kOurs[0] + " --ring-peer $n \"$@\"\n");
  ASSERT_EQ(testing::Run({"chmod", "+x", liar}).exit_code, 0);
  Figures figures;
  EXPECT_THAT(RunPeersSuite(kSmokePeersSize, {kOurs, {liar}}, figures),
              StatusIs(absl::StatusCode::kInternal,
                       AllOf(HasSubstr("the peers disagree: number "), HasSubstr(" of the keys"),
                             HasSubstr("10.0.0.63's"))));
}

TEST(PeersTest, APeerThatEndsEndsTheSuite) {
  Figures figures;
  EXPECT_THAT(RunPeersSuite(kSmokePeersSize, {kOurs, {"/bin/false"}}, figures),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/bin/false ended before")));
  EXPECT_THAT(RunPeersSuite(kSmokePeersSize, {kOurs, {"/no/such/program"}}, figures),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("/no/such/program ended")));
}

TEST(PeersTest, WithoutCargoTheScriptSaysSoWithACodeOfItsOwn) {
  const TempDir empty;
  const Completed built =
      testing::Run({"/usr/bin/env", "PATH=" + empty.path(), "/bin/bash", kBuildScript});
  EXPECT_EQ(built.exit_code, kNoCargo) << built.err;
  EXPECT_THAT(built.err, HasSubstr("needs cargo, which is not in PATH"));
  EXPECT_EQ(built.out, "");
}

}  // namespace
}  // namespace ringshift::bench
