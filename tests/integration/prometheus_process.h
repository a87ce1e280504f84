// A real Prometheus.
#ifndef RINGSHIFT_TESTS_INTEGRATION_PROMETHEUS_PROCESS_H_
#define RINGSHIFT_TESTS_INTEGRATION_PROMETHEUS_PROCESS_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/process.h"

namespace ringshift::testing {

// A port that nobody has just now: Prometheus cannot choose one.
inline int FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  EXPECT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
  close(fd);
  return ntohs(address.sin_port);
}

class PrometheusProcess {
 public:
  // Its files are in `dir`, where the configuration, prometheus.yml, is.
  explicit PrometheusProcess(const std::string& dir) {
    // Somebody else may take the port first.
    for (int attempt = 0; attempt < 5; ++attempt) {
      const std::string address = "127.0.0.1:" + std::to_string(FreePort());
      process_ = std::make_unique<Process>(std::vector<std::string>{
          "prometheus", "--config.file=" + dir + "/prometheus.yml",
          "--storage.tsdb.path=" + dir + "/tsdb", "--web.listen-address=" + address});
      url_ = "http://" + address;
      if (process_->WaitForStderr("Server is ready to receive web requests")) return;
    }
    ADD_FAILURE() << process_->Stderr();
  }

  const std::string& url() const { return url_; }

 private:
  std::unique_ptr<Process> process_;
  std::string url_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_PROMETHEUS_PROCESS_H_
