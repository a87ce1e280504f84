// docs/verify-your-fleet.md from start to end with a real nginx: its configuration, its topology,
// its commands and what they print are those of the page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/integration/process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr int kKeys = 3000;

std::string ReplaceAll(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// What curl is to ask for: kKeys requests that can be compared, and some whose key nginx cannot
// log.
std::string CurlConfiguration() {
  std::string configuration;
  for (int i = 0; i < kKeys; ++i) {
    const std::string n = std::to_string(i);
    const std::string paths[] = {"/img/" + n + ".jpg", "/a,b/" + n + "?x=1,2&y=%2F" + n,
                                 "//" + n + "/../%41b;v=" + n + "?", "/(" + n + ")'~*@!$"};
    configuration += "url = \"http://fleet" + paths[i % 4] + "\"\noutput = /dev/null\n";
    if (i % 100 == 0) {
      configuration += "url = \"http://fleet/\\\"" + n + "\\\"\"\noutput = /dev/null\n";
    }
  }
  return configuration;
}

// Waits until something listens on a Unix socket; a test failure if nothing does by `deadline`.
void WaitForListener(const std::string& path, std::chrono::steady_clock::time_point deadline) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof address.sun_path);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  for (;;) {
    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    const bool listens =
        ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(fd);
    if (listens) return;
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "nothing listens on " << path;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

class VerifyFleetDocumentTest : public ::testing::Test {
 protected:
  // The fleet's addresses are on this machine, where nothing listens: which server nginx chooses is
  // logged all the same.
  std::string Here(std::string text) const {
    text = ReplaceAll(std::move(text), "10.20.0.", "127.20.0.");
    text = ReplaceAll(std::move(text), "2001:db8::4", "::1");
    return ReplaceAll(std::move(text), "/var/log/nginx", dir_.path());
  }

  // Asks an nginx of the page's configuration for everything; its log is in dir_ then.
  void RecordOwners(const std::vector<std::string>& blocks) {
    std::string fleet = blocks.at(0) + blocks.at(1);
    // A server that does not answer would be left out of the next choices.
    constexpr std::string_view kServer = "\n    server ";
    for (std::size_t at = 0; (at = fleet.find(kServer, at)) != std::string::npos;) {
      at = fleet.find(';', at);
      fleet.insert(at, " max_fails=0");
    }
    const std::string socket = dir_.File("nginx.sock");
    fleet = ReplaceAll(fleet, "listen 80;", "listen unix:" + socket + ";");
    std::string paths;
    for (const char* module : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"}) {
      paths += std::string("  ") + module + "_temp_path " + dir_.File(module) + ";\n";
    }
    const std::string configuration = dir_.Write(
        "nginx.conf", "daemon off;\nmaster_process off;\nerror_log stderr emerg;\npid " +
                          dir_.File("nginx.pid") + ";\nevents {}\nhttp {\n" + paths +
                          "  access_log off;\n  proxy_next_upstream off;\n" + Here(fleet) + "}\n");
    Process nginx({"/usr/bin/env", "PATH=/usr/sbin:/usr/local/sbin:/usr/bin:/bin", "nginx", "-p",
                   dir_.path(), "-c", configuration});
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    ASSERT_NO_FATAL_FAILURE(WaitForListener(socket, deadline)) << nginx.Stderr();
    // Once: of requests that are sent again nginx would log some twice. Without --fail-early the
    // exit code is that of the last request alone.
    const Completed curl = testing::Run({"curl", "--silent", "--fail-early", "--globoff",
                                         "--path-as-is", "--unix-socket", socket, "--config", "-"},
                                        CurlConfiguration());
    ASSERT_EQ(curl.exit_code, 0) << curl.err << nginx.Stderr();
    nginx.Signal(SIGUSR1);  // write what is buffered
    const auto lines = [this] {
      const std::string log = ReadFile(dir_.File("owners.csv"));
      return std::count(log.begin(), log.end(), '\n');
    };
    while (lines() < kKeys + kKeys / 100 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_EQ(lines(), kKeys + kKeys / 100) << nginx.Stderr();
  }

  // Runs a command of the page.
  Completed Shell(const std::string& command) const {
    return testing::Run({"/bin/sh", "-ec",
                         "cd \"$0\"; PATH=" RINGSHIFT_BIN_DIR ":$PATH; " + Here(command),
                         work_.path()});
  }

  TempDir dir_;   // nginx's
  TempDir work_;  // where the commands run
};

TEST_F(VerifyFleetDocumentTest, ItsStepsEndWithoutADifferenceAndItsMistakesWithDifferences) {
  const std::string page = ReadFile(RINGSHIFT_SOURCE_DIR "/docs/verify-your-fleet.md");
  const std::vector<std::string> nginx = Blocks(page, "nginx");
  const std::vector<std::string> yaml = Blocks(page, "yaml");
  const std::vector<std::string> commands = Blocks(page, "sh");
  const std::vector<std::string> printed = Blocks(page, "text");
  ASSERT_THAT(nginx, SizeIs(2));
  ASSERT_THAT(yaml, SizeIs(2));
  ASSERT_THAT(commands, SizeIs(4));
  ASSERT_THAT(printed, SizeIs(1));
  const std::string& check = commands[0];
  const std::string& filter = commands[1];
  const std::string& verify = commands[2];
  const std::string& diff = commands[3];

  const std::string topology = Here(yaml[0]);
  work_.Write("fleet.yaml", topology);
  ASSERT_NO_FATAL_FAILURE(RecordOwners(nginx));
  for (const std::string& command : {check, filter}) {
    const Completed done = Shell(command);
    EXPECT_EQ(done.exit_code, 0) << command << done.out << done.err;
  }
  const Completed verified = Shell(verify);
  EXPECT_EQ(verified.exit_code, 0) << verified.err;
  EXPECT_EQ(verified.out, printed[0]);
  EXPECT_EQ(Shell(diff).exit_code, 0);

  // The page's last word: an address to connect to, at the old place.
  const std::string bare = Here("{name: \"10.20.0.3:80\", address: \"10.20.0.3\"}");
  ASSERT_THAT(topology, HasSubstr(bare));
  ASSERT_THAT(yaml[1], HasSubstr("{name: \"cache3\", "));
  const std::string with_port =
      ReplaceAll(yaml[1].substr(yaml[1].find('{')), "\"cache3\"", "\"10.20.0.3:80\"");
  work_.Write("fleet.yaml", ReplaceAll(topology, bare + "\n", Here(with_port)));
  EXPECT_EQ(Shell(verify).out, printed[0]);

  const struct {
    const char* from;
    const char* to;
    const char* output;
  } mistakes[] = {
      {"weight: 3", "weight: 2", " different"},
      {"address: \"127.20.0.3\"", "address: \"127.20.0.3:80\"", " different"},
      {"name: \"127.20.0.3:80\"", "name: \"cache3\"", "neither name nor address of a node"}};
  for (const auto& mistake : mistakes) {
    ASSERT_THAT(topology, HasSubstr(mistake.from));
    work_.Write("fleet.yaml", ReplaceAll(topology, mistake.from, mistake.to));
    const Completed different = Shell(verify);
    EXPECT_EQ(different.exit_code, 1) << mistake.to << different.err;
    EXPECT_THAT(different.out, HasSubstr(mistake.output));
  }
}

}  // namespace
}  // namespace ringshift::testing
