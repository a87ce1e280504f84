// The v1 ring against a real nginx: `hash $arg_k consistent` over upstreams of unequal weight, by
// the ring itself and by `ringctl verify-mapping`.
//
// nginx is asked which server it chose, not what the server said: nothing listens on the upstreams'
// addresses (all of them on this machine), the connection is refused at once, and the answer's
// X-Owner is $upstream_addr. nginx is found by PATH and /usr/sbin; `deploy/install-deps.sh --tests`
// installs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ring/ring.h"
#include "tests/integration/process.h"
#include "tests/unit/ring/ring_test_util.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Process;
using ::ringshift::testing::TempDir;

struct Server {
  std::string directive;  // as the `server` directive has it
  std::uint32_t weight;
  // As nginx reports it; several where the directive has a name of several addresses.
  std::vector<std::string> upstream_addrs;
};

// Keys of many lengths, from what may stand in a query argument as it is.
std::vector<std::string> Keys(std::size_t count, std::uint32_t seed) {
  constexpr std::string_view kAlphabet =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~/:@!$'()*,;%";
  std::mt19937 random(seed);
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 2 == 0) {
      keys.push_back(absl::StrCat("/img/", i, ".jpg"));
      continue;
    }
    std::string key(1 + random() % (i % 50 == 1 ? 1500 : 40), '\0');
    for (char& c : key) c = kAlphabet[random() % kAlphabet.size()];
    keys.push_back(key);
  }
  return keys;
}

// A connection to nginx over which requests are pipelined.
class Connection {
 public:
  // Waits until nginx listens.
  explicit Connection(const std::string& socket_path) {
    const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
    while (fd_ < 0 && std::chrono::steady_clock::now() < deadline) {
      fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return;
      close(fd_);
      fd_ = -1;
      std::this_thread::yield();
    }
  }
  ~Connection() {
    if (fd_ >= 0) close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The owner that nginx chooses for each key; shorter than `keys` if the connection breaks.
  std::vector<std::string> Owners(const std::vector<std::string>& keys) {
    constexpr std::size_t kPipelined = 32;
    std::vector<std::string> owners;
    for (std::size_t begin = 0; begin < keys.size(); begin += kPipelined) {
      const std::size_t end = std::min(begin + kPipelined, keys.size());
      std::string requests;
      for (std::size_t i = begin; i < end; ++i) {
        absl::StrAppend(&requests, "HEAD /?k=", keys[i], " HTTP/1.1\r\nHost: test\r\n\r\n");
      }
      for (std::size_t sent = 0; sent < requests.size();) {
        const ssize_t n = send(fd_, requests.data() + sent, requests.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return owners;
        sent += static_cast<std::size_t>(n);
      }
      while (owners.size() < end) {
        std::string owner;
        if (!ReadOwner(owner)) return owners;
        owners.push_back(owner);
      }
    }
    return owners;
  }

 private:
  // Reads one response, which has no body.
  bool ReadOwner(std::string& owner) {
    std::size_t end;
    while ((end = received_.find("\r\n\r\n")) == std::string::npos) {
      char buffer[16384];
      const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
      if (n <= 0) return false;
      received_.append(buffer, static_cast<std::size_t>(n));
    }
    const std::string head = received_.substr(0, end + 2);
    received_.erase(0, end + 4);
    constexpr std::string_view kHeader = "X-Owner: ";
    const std::size_t begin = head.find(kHeader);
    if (begin == std::string::npos) return false;
    owner = head.substr(begin + kHeader.size(), head.find("\r\n", begin) - begin - kHeader.size());
    return true;
  }

  int fd_ = -1;
  std::string received_;
};

std::string NginxConfiguration(const TempDir& dir, const std::vector<Server>& servers) {
  std::string upstream;
  for (const Server& server : servers) {
    absl::StrAppend(&upstream, "    server ", server.directive, " weight=", server.weight,
                    " max_fails=0;\n");
  }
  return absl::StrCat(R"(
daemon off;
master_process off;
pid )",
                      dir.File("nginx.pid"), R"(;
error_log stderr emerg;
events { worker_connections 256; }
http {
  access_log off;
  client_body_temp_path )",
                      dir.File("body"), R"(;
  proxy_temp_path )",
                      dir.File("proxy"), R"(;
  fastcgi_temp_path )",
                      dir.File("fastcgi"), R"(;
  uwsgi_temp_path )",
                      dir.File("uwsgi"), R"(;
  scgi_temp_path )",
                      dir.File("scgi"), R"(;
  keepalive_requests 10000000;
  upstream fleet {
    hash $arg_k consistent;
)",
                      upstream, R"(  }
  server {
    listen unix:)",
                      dir.File("nginx.sock"), R"(;
    location / {
      proxy_pass http://fleet;
      proxy_next_upstream off;
      error_page 502 = @owner;
      add_header X-Owner $upstream_addr always;  # where something listens after all
    }
    location @owner {
      add_header X-Owner $upstream_addr always;
      return 204;
    }
  }
}
)");
}

// The topology of the fleet. Its nodes are called what nginx calls them.
std::string Topology(const std::vector<Server>& servers, IdentityStyle style) {
  std::string yaml =
      absl::StrCat("data_centers:\n  - name: fleet\n    identity_style: ",
                   style == IdentityStyle::kNginx ? "nginx" : "canonical", "\n    nodes:\n");
  for (const Server& server : servers) {
    absl::StrAppend(&yaml, "      - {name: \"", server.upstream_addrs.front(), "\", address: \"",
                    server.directive, "\", weight: ", server.weight, "}\n");
  }
  return yaml;
}

// Asks nginx, the ring and `ringctl verify-mapping` about every key. Keys in an arc whose point
// several nodes share are left out: nginx has no rule for them.
void ExpectSameOwners(const std::vector<Server>& servers, IdentityStyle style, std::uint32_t seed) {
  TempDir dir;
  const std::string configuration = dir.Write("nginx.conf", NginxConfiguration(dir, servers));
  Process nginx({"/usr/bin/env", "PATH=/usr/sbin:/usr/local/sbin:/usr/bin:/bin", "nginx", "-p",
                 dir.path(), "-c", configuration});
  Connection connection(dir.File("nginx.sock"));
  const std::vector<std::string> keys = Keys(20'000, seed);
  std::vector<std::string> owners = connection.Owners(keys);
  ASSERT_EQ(owners.size(), keys.size()) << nginx.Stderr();
  std::map<std::string, std::string> names;
  for (const Server& server : servers) {
    for (const std::string& addr : server.upstream_addrs) {
      names[addr] = server.upstream_addrs.front();
    }
  }
  for (std::string& owner : owners) {
    if (names.count(owner) > 0) owner = names[owner];
  }

  std::vector<RingNode> nodes;
  for (const Server& server : servers) {
    nodes.push_back(
        {server.upstream_addrs.front(), testing::Identity(server.directive, style), server.weight});
  }
  const auto ring =
      Ring::Build(NodeSet::Create(nodes).value(), DefaultRingParameters(RingVersion::kV1)).value();
  std::string mapping;
  std::size_t tied = 0;
  std::vector<std::size_t> owned(servers.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const std::size_t point = ring->FindPoint(Ring::Position(keys[i]));
    const std::size_t next = (point + 1) % ring->point_count();
    if (ring->point(point).hash == ring->point(next).hash) {
      ++tied;
      continue;
    }
    const NodeIndex owner = ring->Owner(keys[i]);
    ++owned[owner];
    ASSERT_EQ(ring->nodes()[owner].name, owners[i]) << keys[i];
    absl::StrAppend(&mapping, "\"", keys[i], "\",\"", owners[i], "\"\r\n");  // no key has a quote
  }
  EXPECT_LT(tied, 20u);
  EXPECT_THAT(owned, ::testing::Each(::testing::Gt(0u)));

  const testing::Completed verified =
      testing::Run({testing::Binary("ringctl"), "verify-mapping", "--topology",
                    dir.Write("topology.yaml", Topology(servers, style)), "--data-center", "fleet",
                    "--ring", "v1", dir.Write("owners.csv", mapping)});
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
}

TEST(NginxTest, AFleetOfUnequalWeightsHasTheSameOwners) {
  std::vector<Server> servers;
  const std::uint32_t weights[] = {1, 2, 3, 5, 8, 13, 21, 100};
  for (std::uint32_t i = 0; i < std::size(weights); ++i) {
    const std::string address = absl::StrCat("127.0.0.", 10 + i, ":", i % 2 ? 1 : 19);
    servers.push_back({address, weights[i], {address}});
  }
  ExpectSameOwners(servers, IdentityStyle::kCanonical, 1);
}

TEST(NginxTest, AFleetOfManyNodesHasTheSameOwners) {
  std::vector<Server> servers;
  for (std::uint32_t i = 0; i < 200; ++i) {
    const std::string address = absl::StrCat("127.1.", i / 50, ".", 1 + i % 50, ":1");
    servers.push_back({address, 1 + i % 7, {address}});
  }
  ExpectSameOwners(servers, IdentityStyle::kCanonical, 2);
}

TEST(NginxTest, EveryFormOfAServerDirectiveHasTheSameOwnersInNginxStyle) {
  TempDir dir;
  const std::string path = dir.File("nobody-listens.sock");
  const std::string other_path = dir.File("nor-here.sock");
  ExpectSameOwners({{"127.0.2.1:1", 3, {"127.0.2.1:1"}},
                    {"127.0.2.2", 2, {"127.0.2.2:80"}},
                    {"[::1]:1", 4, {"[::1]:1"}},
                    {"[::1]:19", 1, {"[::1]:19"}},
                    {"[::1]", 2, {"[::1]:80"}},
                    {"localhost:2", 3, {"127.0.0.1:2", "[::1]:2"}},
                    {"LOCALHOST:3", 2, {"127.0.0.1:3", "[::1]:3"}},
                    // A name of 127.0.0.9, since it has not four numbers.
                    {"127.9", 4, {"127.0.0.9:80"}},
                    {"unix:" + path, 5, {"unix:" + path}},
                    {"UNIX:" + other_path, 5, {"UNIX:" + other_path}}},
                   IdentityStyle::kNginx, 3);
}

}  // namespace
}  // namespace ringshift
