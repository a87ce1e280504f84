// The nginx of docs/edge-protocol.md, as the page has it: two cache nodes and an origin. Their
// addresses are replaced by Unix sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/integration/process.h"
#include "tests/testing/document.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::string Replace(std::string text, const std::string& what, const std::string& by) {
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// What a request over a Unix socket is answered, head and body; "" if nothing listens.
std::string Ask(const std::string& method, const std::string& socket_path, const std::string& path,
                const std::string& headers) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
  std::string answer;
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    const std::string request =
        method + " " + path + " HTTP/1.1\r\nHost: www\r\nConnection: close\r\n" + headers + "\r\n";
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    char buffer[4096];
    for (ssize_t n = 0; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0;) {
      answer.append(buffer, static_cast<std::size_t>(n));
    }
  }
  ::close(fd);
  return answer;
}

class EdgeProtocolDocumentTest : public ::testing::Test {
 protected:
  // Node 1 is 10.0.0.1:8080 of the page, and node 2 is 10.0.0.2:8080.
  EdgeProtocolDocumentTest() {
    const std::vector<std::string> blocks =
        Blocks(ReadFile(RINGSHIFT_SOURCE_DIR "/docs/edge-protocol.md"), "nginx");
    EXPECT_THAT(blocks, SizeIs(1));
    for (const char* node : {"1", "2"}) {
      const std::string name(node);
      std::string configuration = "daemon off;\nmaster_process off;\npid " +
                                  dir_.File("pid" + name) + ";\nerror_log stderr crit;\n" +
                                  "events {}\nhttp {\naccess_log off;\n";
      for (const char* path :
           {"client_body_temp", "proxy_temp", "fastcgi_temp", "uwsgi_temp", "scgi_temp"}) {
        configuration += std::string(path) + "_path " + dir_.File(path + name) + ";\n";
      }
      configuration +=
          "proxy_cache_path " + dir_.File("cache" + name) +
          " keys_zone=objects:1m;\nupstream origin { server unix:" + dir_.File("origin") + "; }\n" +
          blocks.at(0);
      if (name == "1") {
        configuration += "server {\nlisten unix:" + dir_.File("origin") +
                         ";\nadd_header Cache-Control max-age=60;\n"
                         "location / { return 200 \"origin $request_uri\"; }\n"
                         "location /none { return 404 \"origin $request_uri\"; } }\n";
      }
      const auto put = [&](const std::string& address, const std::string& socket) {
        const std::string upstream = socket.substr(socket.rfind('/') + 1);
        configuration =
            Replace(configuration, "http://" + address + ";", "http://" + upstream + ";");
        configuration =
            Replace(configuration, "listen " + address + ";", "listen unix:" + socket + ";");
        configuration += "upstream " + upstream + " { server unix:" + socket + "; }\n";
      };
      put("10.0.0.1:8080", Node("1"));
      put("10.0.0.2:8080", Node("2"));
      put("127.0.0.1:8099", dir_.File("nowhere" + name));
      configuration =
          Replace(configuration, "listen 8080;", "listen unix:" + Node(name) + ";") + "}\n";
      nodes_.push_back(std::make_unique<Process>(std::vector<std::string>{
          "/usr/bin/env", "PATH=/usr/sbin:/usr/local/sbin:/usr/bin:/bin", "nginx", "-p",
          dir_.path(), "-c", dir_.Write("nginx" + name + ".conf", configuration)}));
      const auto deadline = std::chrono::steady_clock::now() + kPatience;
      while (Ask("GET", Node(name), "/started", kCacheOnly) == "") {
        if (std::chrono::steady_clock::now() > deadline) {
          ADD_FAILURE() << "nginx does not start: " << nodes_.back()->Stderr();
          break;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
    }
  }

  static constexpr const char* kCacheOnly = "Ringshift-Cache-Only: 1\r\n";
  static std::string Before(const std::string& address) {
    return "Ringshift-Previous-Owner: " + address + "\r\n";
  }
  std::string Node(const std::string& name) const { return dir_.File("node" + name); }

  // The owner is node 1, the previous owner node 2.
  std::string AskOwner(const std::string& path, const std::string& headers = "") const {
    return Ask("GET", Node("1"), path, headers);
  }
  std::string AskPrevious(const std::string& path, const std::string& headers = "") const {
    return Ask("GET", Node("2"), path, headers);
  }

  TempDir dir_;
  std::vector<std::unique_ptr<Process>> nodes_;
};

auto Is(const std::string& path, const std::string& outcome) {
  return AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("origin " + path),
               HasSubstr("\r\nRingshift-Outcome: " + outcome + "\r\n"));
}

TEST_F(EdgeProtocolDocumentTest, AnObjectThatThePreviousOwnerHasComesFromThereOnce) {
  EXPECT_THAT(AskPrevious("/a"), Is("/a", "origin"));
  EXPECT_THAT(AskOwner("/a", Before("10.0.0.2:8080")), Is("/a", "previous-owner-hit"));
  EXPECT_THAT(AskOwner("/a", Before("10.0.0.2:8080")), Is("/a", "hit"));
  EXPECT_THAT(AskOwner("/a"), Is("/a", "hit"));
}

TEST_F(EdgeProtocolDocumentTest, WhatThePreviousOwnerHasNotComesFromTheOriginAndStaysAtTheOwner) {
  EXPECT_THAT(AskOwner("/b", Before("10.0.0.2:8080")), Is("/b", "origin"));
  EXPECT_THAT(AskPrevious("/b", kCacheOnly), StartsWith("HTTP/1.1 504"));
  EXPECT_THAT(AskOwner("/b", kCacheOnly), Is("/b", "hit"));
}

TEST_F(EdgeProtocolDocumentTest, ANodeThatIsAskedForItsCacheAsksNobody) {
  EXPECT_THAT(AskPrevious("/c"), Is("/c", "origin"));
  // Not the origin, and not node 2, which has it.
  EXPECT_THAT(AskOwner("/c", kCacheOnly + Before("10.0.0.2:8080")),
              AllOf(StartsWith("HTTP/1.1 504"), Not(HasSubstr("origin /c"))));
}

TEST_F(EdgeProtocolDocumentTest, WhateverValueTheHeaderHasNobodyElseIsAsked) {
  EXPECT_THAT(AskOwner("/c", "Ringshift-Cache-Only: 0\r\n"), StartsWith("HTTP/1.1 504"));
}

TEST_F(EdgeProtocolDocumentTest, OnlyGetAndHeadAskThePreviousOwner) {
  EXPECT_THAT(AskPrevious("/f"), Is("/f", "origin"));
  const std::string before = Before("10.0.0.2:8080");
  const std::string posted = Ask("POST", Node("1"), "/f", "Content-Length: 0\r\n" + before);
  EXPECT_THAT(posted, HasSubstr("\r\nRingshift-Outcome: origin\r\n"));
  EXPECT_THAT(Ask("HEAD", Node("1"), "/f", before),
              HasSubstr("\r\nRingshift-Outcome: previous-owner-hit\r\n"));
}

TEST_F(EdgeProtocolDocumentTest, WhatTheOriginHasNotIsCountedToo) {
  EXPECT_THAT(AskOwner("/none"),
              AllOf(StartsWith("HTTP/1.1 404"), HasSubstr("\r\nRingshift-Outcome: origin\r\n")));
}

TEST_F(EdgeProtocolDocumentTest, APreviousOwnerThatIsDownOrUnknownCostsNothingButItsObject) {
  nodes_[1].reset();
  EXPECT_THAT(AskOwner("/d", Before("10.0.0.2:8080")), Is("/d", "origin"));
  EXPECT_THAT(AskOwner("/e", Before("169.254.169.254:80")), Is("/e", "origin"));
}

}  // namespace
}  // namespace ringshift::testing
