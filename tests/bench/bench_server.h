// The server under test: the router's own, with its routing handler or with another one in its
// place.
#ifndef RINGSHIFT_TESTS_BENCH_BENCH_SERVER_H_
#define RINGSHIFT_TESTS_BENCH_BENCH_SERVER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/route_metrics.h"
#include "server/routing_handler.h"
#include "server/routing_server.h"
#include "server/routing_service.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {

enum class HandlerKind {
  kReal,            // the router's
  kPreviousOwners,  // the router's, with the table of BothRingsWarm
  kUncounted,       // the router's, which counts nothing
  // Nothing is routed: Route gets an empty response, RouteBatch a copy of the answer to the first
  // batch_keys keys. Requests and responses are protobuf's messages.
  kEmpty,
  // The same without messages: the router's readers read the requests, and the bytes of the
  // response are there.
  kEmptyWire,
};

// "real", "previous-owners", "uncounted", "empty", "empty-wire".
std::string_view HandlerName(HandlerKind kind);
// NOT_FOUND if there is none of that name.
absl::StatusOr<HandlerKind> FindHandler(std::string_view name);

// Thread safety: used by one thread.
class BenchServer {
 public:
  // Builds the rings of the case and serves them on a port of 127.0.0.1.
  static absl::StatusOr<std::unique_ptr<BenchServer>> Start(HandlerKind kind,
                                                            const BenchCase& bench_case,
                                                            std::size_t batch_keys);
  // HOST:PORT
  const std::string& address() const { return address_; }

  // The same with any handler. The table is published; `make_handler` gets this server's parts.
  struct Parts {
    Lifecycle lifecycle;
    RoutingDirectory directory;
    RouteMetrics metrics;
  };
  using HandlerMaker = std::function<std::unique_ptr<RoutingHandler>(Parts&)>;
  static absl::StatusOr<std::unique_ptr<BenchServer>> StartWith(
      const std::shared_ptr<const RoutingTable>& table, const HandlerMaker& make_handler);

 private:
  BenchServer() : service_(parts_.lifecycle, parts_.directory) {}

  Parts parts_;
  RoutingService service_;
  std::unique_ptr<RoutingServer> server_;
  std::string address_;
};

// Serves until the process is killed; prints `address=HOST:PORT` on a line of stderr when it does.
// Returns the exit code if it cannot.
int RunBenchServer(HandlerKind kind, const BenchCase& bench_case, std::size_t batch_keys);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_BENCH_SERVER_H_
