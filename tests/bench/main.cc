// ringshift_bench SUITE [--json FILE] [--smoke] [--pingora PROGRAM]: see docs/benchmarks.md.
// ringshift_bench --serve HANDLER CASE BATCH_KEYS: the server under test, started by itself.
// ringshift_bench --batches ADDRESS CASE KEYS BATCH_KEYS, --shares ADDRESS CHANGES STEP_PPM: a
// client beside other calls, likewise. ringshift_bench --ring-peer ...: our side of the suite
// `peers`, likewise.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/bench_server.h"
#include "tests/bench/client_process.h"
#include "tests/bench/figures.h"
#include "tests/bench/migration_suite.h"
#include "tests/bench/peers_suite.h"
#include "tests/bench/ring_peer.h"
#include "tests/bench/ring_suite.h"
#include "tests/bench/router_suite.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {
namespace {

constexpr const char* kUsage =
    "Usage: ringshift_bench SUITE [--json FILE] [--smoke] [--pingora PROGRAM]\n"
    "\n"
    "  SUITE      router, ring, migration or peers\n"
    "  --json     also write the figures as one JSON object of numbers\n"
    "  --smoke    tiny sizes: shows that everything works; the figures mean nothing\n"
    "  --pingora  for peers: what tests/bench/peers/build.sh has built\n";

int WrongUsage(const std::string& what) {
  std::fprintf(stderr, "ringshift_bench: %s\n%s", what.c_str(), kUsage);
  return 2;
}

int Serve(const std::vector<std::string>& arguments) {
  if (arguments.size() != 4) return WrongUsage("--serve takes three arguments");
  const absl::StatusOr<HandlerKind> handler = FindHandler(arguments[1]);
  const absl::StatusOr<BenchCase> bench_case = FindCase(arguments[2]);
  if (!handler.ok() || !bench_case.ok()) return WrongUsage("no such handler or case");
  return RunBenchServer(*handler, *bench_case, std::stoul(arguments[3]));
}

int AskBatches(const std::vector<std::string>& arguments) {
  if (arguments.size() != 5) return WrongUsage("--batches takes four arguments");
  const absl::StatusOr<BenchCase> bench_case = FindCase(arguments[2]);
  if (!bench_case.ok()) return WrongUsage("no such case");
  return RunClient(
      BatchLoad{arguments[1], *bench_case, std::stoul(arguments[3]), std::stoul(arguments[4])});
}

int SetShares(const std::vector<std::string>& arguments) {
  if (arguments.size() != 4) return WrongUsage("--shares takes three arguments");
  return RunClient(ShareLoad{arguments[1], std::stoi(arguments[2]), std::stoi(arguments[3])});
}

int CannotWrite(const std::string& path) {
  std::fprintf(stderr, "ringshift_bench: cannot write %s\n", path.c_str());
  return 1;
}

int RunSuite(const std::vector<std::string>& arguments) {
  const std::string& suite = arguments[0];
  const bool is_peers = suite == "peers";
  std::string json_path, pingora;
  bool is_smoke = false;
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i] == "--json" && i + 1 < arguments.size()) {
      json_path = arguments[++i];
    } else if (arguments[i] == "--smoke") {
      is_smoke = true;
    } else if (is_peers && arguments[i] == "--pingora" && i + 1 < arguments.size()) {
      pingora = arguments[++i];
    } else {
      return WrongUsage("unexpected " + arguments[i]);
    }
  }
  if (is_peers && pingora.empty()) return WrongUsage("peers takes --pingora");
  // Before the minutes that a suite takes.
  std::ofstream json;
  if (!json_path.empty()) json.open(json_path);
  if (!json) return CannotWrite(json_path);
  Figures figures;
  const absl::Status status =
      is_peers ? RunPeersSuite(is_smoke ? kSmokePeersSize : kFullPeersSize,
                               {{RINGSHIFT_BENCH_BINARY, "--ring-peer"}, {pingora}}, figures)
      : suite == "ring" ? RunRingSuite(is_smoke ? kSmokeRingSize : kFullRingSize, figures)
      : suite == "migration"
          ? RunMigrationSuite(is_smoke ? kSmokeMigrationSize : kFullMigrationSize, figures)
          : RunRouterSuite(is_smoke ? kSmokeSize : kFullSize, figures);
  if (!status.ok()) {
    std::fprintf(stderr, "ringshift_bench: no figures: %s\n",
                 std::string(status.message()).c_str());
    return 1;
  }
  std::fputs(figures.Table().c_str(), stdout);
  if (json_path.empty()) return 0;
  json << figures.Json();
  return json.flush() ? 0 : CannotWrite(json_path);
}

int Main(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return WrongUsage("no suite");
  if (arguments[0] == "-h" || arguments[0] == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (arguments[0] == "--serve") return Serve(arguments);
  if (arguments[0] == "--batches") return AskBatches(arguments);
  if (arguments[0] == "--shares") return SetShares(arguments);
  if (arguments[0] == "--ring-peer") return RunRingPeer({arguments.begin() + 1, arguments.end()});
  if (arguments[0] != "router" && arguments[0] != "ring" && arguments[0] != "migration" &&
      arguments[0] != "peers") {
    return WrongUsage("unknown suite " + arguments[0]);
  }
  return RunSuite(arguments);
}

}  // namespace
}  // namespace ringshift::bench

int main(int argc, char** argv) { return ringshift::bench::Main({argv + 1, argv + argc}); }
