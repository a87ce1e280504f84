// A real ringshiftd under test, on ports of its own.
//
//   TempDir dir;
//   RouterProcess router(dir.Write("topology.yaml", kTopology), dir.File("state.db"));
//   router.WaitUntilReady();
//   auto stub = v1::RoutingService::NewStub(router.PublicChannel());
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_INTEGRATION_ROUTER_PROCESS_H_
#define RINGSHIFT_TESTS_INTEGRATION_ROUTER_PROCESS_H_

#include <grpcpp/channel.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/integration/process.h"

namespace ringshift::testing {

// Data centers `ams` (nodes cache-0 to cache-9, every third one with feature `fedramp`, the pools
// `fedramp` and the empty one `nowhere`), `fra` (4 nodes) and `new` (3 nodes, without ring v1).
std::string SmallTopology();

class RouterProcess {
 public:
  // Starts it and waits until it listens; a test failure if it does not. Its ports are free ones,
  // unless `more_flags` has a --public-address. `store_path` may be an address in etcd. `wrapper`
  // is a command that ends by exec of its last arguments, which are the router's command line.
  RouterProcess(const std::string& topology_path, const std::string& store_path,
                const std::vector<std::string>& more_flags = {},
                const std::vector<std::string>& wrapper = {});

  // A test failure if it does not become ready.
  void WaitUntilReady();

  // HOST:PORT, as the router logged them.
  const std::string& public_address() const { return public_address_; }
  const std::string& admin_address() const { return admin_address_; }
  const std::string& http_address() const { return http_address_; }

  int public_port() const { return PortOf(public_address_); }
  int http_port() const { return PortOf(http_address_); }

  // A new connection each time.
  std::shared_ptr<grpc::Channel> PublicChannel() const { return NewChannel(public_address_); }
  std::shared_ptr<grpc::Channel> AdminChannel() const { return NewChannel(admin_address_); }

  // The body of a GET that answers 200; a test failure otherwise.
  std::string Get(const std::string& path) const;

  Process& process() { return process_; }

 private:
  static int PortOf(const std::string& address) {
    return std::stoi(address.substr(address.rfind(':') + 1));
  }
  static std::shared_ptr<grpc::Channel> NewChannel(const std::string& address);

  Process process_;
  std::string public_address_;
  std::string admin_address_;
  std::string http_address_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_ROUTER_PROCESS_H_
