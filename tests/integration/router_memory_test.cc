// The memory of a real router: while rings change under load, and where new ones do not fit.
#include <gmock/gmock.h>
#include <grpcpp/client_context.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "routing/data_center.h"
#include "routing/topology_loader.h"
#include "tests/integration/process.h"
#include "tests/integration/router_client.h"
#include "tests/integration/router_process.h"
#include "tests/testing/raw_routing_client.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

// 100 nodes. Their rings take 137,600 bytes for each unit of weight.
struct Fleet {
  std::string name = "ams";
  int weight = 10;        // of each node
  int first_weight = 10;  // of the first one
};

std::string Topology(const std::vector<Fleet>& fleets) {
  std::string yaml = "data_centers:\n";
  for (const Fleet& fleet : fleets) {
    yaml += "  - name: " + fleet.name + "\n    nodes:\n";
    for (int i = 0; i < 100; ++i) {
      yaml += "      - {name: n" + std::to_string(i) + ", address: \"10.0.0." + std::to_string(i) +
              ":443\", weight: " + std::to_string(i == 0 ? fleet.first_weight : fleet.weight) +
              "}\n";
    }
  }
  return yaml;
}

std::uint64_t PeakOfBuilding(const std::string& topology) {
  const LoadedTopology loaded = ParseTopology(topology, "topology.yaml").value();
  return DataCenter::MeasureBuild(loaded.topology.data_centers.front()).value().peak_bytes;
}

class MemoryTest : public ::testing::Test {
 protected:
  void Start(const std::vector<std::string>& flags = {},
             const std::vector<std::string>& wrapper = {}) {
    std::vector<std::string> all = {"--max-reload-churn=100"};
    all.insert(all.end(), flags.begin(), flags.end());
    router_ = std::make_unique<RouterProcess>(file_, dir_.File("state.db"), all, wrapper);
    router_->WaitUntilReady();
    client_ = std::make_unique<RouterClient>(*router_);
  }
  void Kill() {
    router_->process().Signal(SIGKILL);
    ASSERT_TRUE(router_->process().WaitForExit().has_value());
  }
  void Write(const std::vector<Fleet>& fleets) { dir_.Write("topology.yaml", Topology(fleets)); }

  // The outcome of the only data center, after a reload.
  v1::TopologyChange Reload() {
    const absl::StatusOr<v1::ReloadTopologyResponse> reloaded = client_->Reload();
    EXPECT_THAT(reloaded, IsOk());
    return reloaded.ok() && reloaded->changes_size() == 1 ? reloaded->changes(0)
                                                          : v1::TopologyChange();
  }

  // A line of /proc/PID/status, in bytes.
  std::int64_t Memory(const std::string& name) const {
    std::ifstream status("/proc/" + std::to_string(router_->process().pid()) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(name + ":")) return std::stol(line.substr(name.size() + 1)) * 1024;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
  }
  // VmHWM begins anew.
  void ForgetPeak() const {
    std::ofstream("/proc/" + std::to_string(router_->process().pid()) + "/clear_refs") << "5";
  }
  std::int64_t RingBytes() const {
    return static_cast<std::int64_t>(client_->Status().ring_memory_bytes());
  }

  TempDir dir_;
  const std::string file_ = dir_.Write("topology.yaml", Topology({Fleet()}));
  std::unique_ptr<RouterProcess> router_;
  std::unique_ptr<RouterClient> client_;
};

TEST_F(MemoryTest, RingsAboveBuildMemoryAreRefusedWithTheFiguresAndTheOldOnesServe) {
  Start({"--build-memory=20MiB"});
  const auto owners = client_->Owners("ams", 200);
  ForgetPeak();
  const std::int64_t before = Memory("VmHWM");
  const std::string large = Topology({{.weight = 1000}});
  dir_.Write("topology.yaml", large);
  const v1::TopologyChange change = Reload();
  EXPECT_EQ(change.outcome(), v1::RELOAD_OUTCOME_FAILED);
  const std::string bytes = std::to_string(PeakOfBuilding(large)) + " bytes (12";
  EXPECT_THAT(change.reason(), AllOf(HasSubstr("data center ams"), HasSubstr(bytes),
                                     HasSubstr("--build-memory is 20971520 bytes (20.0 MiB)")));
  EXPECT_LT(Memory("VmHWM") - before, 10 << 20);
  const v1::ReloadStatus reload = client_->Status().reload();
  EXPECT_EQ(reload.last_error_code(), static_cast<int>(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(reload.last_error(), HasSubstr("--build-memory"));
  EXPECT_EQ(client_->Owners("ams", 200), owners);

  const Completed checked = testing::Run({Binary("ringctl"), "topology", "check", file_, "--json"});
  EXPECT_THAT(checked.out,
              HasSubstr("\"build_memory_bytes\":" + std::to_string(PeakOfBuilding(large)) + "}"))
      << checked.err;

  Write({{.weight = 11}});
  EXPECT_EQ(Reload().outcome(), v1::RELOAD_OUTCOME_APPLIED);
  EXPECT_THAT(client_->Status().reload().last_error(), "");
}

TEST_F(MemoryTest, ARestartServesWhatItServedWhereTheFileDoesNotFit) {
  Start();
  const auto owners = client_->Owners("ams", 200);
  Kill();
  Write({{.weight = 1000}});
  // Nor does --build-memory forbid what was served before.
  Start({"--build-memory=1MiB"});
  EXPECT_EQ(client_->Owners("ams", 200), owners);
  EXPECT_THAT(client_->Status().reload().last_error(),
              AllOf(HasSubstr("data center ams"), HasSubstr("--build-memory is 1048576 bytes")));
}

TEST_F(MemoryTest, AFirstStartThatDoesNotFitIsRefusedAndMakesNoStore) {
  const Completed refused = testing::Run(
      {Binary("ringshiftd"), "--topology=" + file_, "--store=sqlite:" + dir_.File("state.db"),
       "--public-address=127.0.0.1:0", "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0",
       "--build-memory=1MiB"});
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot start"), HasSubstr("data center ams"),
                                 HasSubstr("--build-memory is 1048576 bytes")));
  EXPECT_FALSE(std::filesystem::exists(dir_.File("state.db")));
}

// The router sees another /proc/meminfo than the rest of the system: in a mount namespace of its
// own, as a container with LXCFS does.
#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed
// gRPC has a message whole before the router knows that there is one.
TEST_F(MemoryTest, RequestsThatNeverEndTakeSoMuchMemoryAndNoMore) {
  Start();
  ForgetPeak();
  const std::int64_t before = Memory("VmHWM");
  std::deque<RawRoutingClient> clients;
  for (int i = 0; i < 200; ++i) {
    clients.emplace_back(router_->public_port()).SendPartOfABatch();
  }
  const std::int64_t peak = Memory("VmHWM") - before;
  RecordProperty("peak", std::to_string(peak));
  EXPECT_GT(peak, 30 << 20);  // else the test tests nothing
  EXPECT_LT(peak, 600 << 20);
  EXPECT_EQ(client_->Owners("ams", 100).size(), 100u);
}
#endif

class SystemMemoryTest : public MemoryTest {
 protected:
  void SetUp() override {
    SetAvailable(64 << 10);
    const Completed tried = testing::Run(Wrap({"true"}));
    if (tried.exit_code != 0) GTEST_SKIP() << "no mount namespace can be had: " << tried.err;
  }

  // In place: it is the file that is mounted. A machine of 64 MiB, of which 1 MiB stays free.
  void SetAvailable(int kib) {
    dir_.Write("meminfo", "MemTotal: 65536 kB\nMemAvailable: " + std::to_string(kib) + " kB\n");
  }
  std::vector<std::string> Wrap(const std::vector<std::string>& command) const {
    std::vector<std::string> argv = {"unshare", "--mount"};
    if (::geteuid() != 0) argv.push_back("--map-root-user");
    const std::vector<std::string> more = {
        "sh", "-c", "mount --bind \"$0\" /proc/meminfo && exec \"$@\"", dir_.File("meminfo")};
    argv.insert(argv.end(), more.begin(), more.end());
    argv.insert(argv.end(), command.begin(), command.end());
    return argv;
  }
};

TEST_F(SystemMemoryTest, ARouterTakesNoMoreThanTheSystemLeavesAtAReloadAndAtAStart) {
  Start({}, Wrap({}));
  const auto owners = client_->Owners("ams", 200);
  Write({{.weight = 11}});
  SetAvailable(2 << 10);
  const v1::TopologyChange change = Reload();
  EXPECT_EQ(change.outcome(), v1::RELOAD_OUTCOME_FAILED);
  EXPECT_THAT(change.reason(),
              AllOf(HasSubstr("data center ams"),
                    HasSubstr("/proc/meminfo leaves 1048576 bytes (1.0 MiB) of 67108864 bytes")));
  EXPECT_EQ(client_->Owners("ams", 200), owners);

  Kill();
  const Completed refused =
      testing::Run(Wrap({Binary("ringshiftd"), "--topology=" + file_,
                         "--store=sqlite:" + dir_.File("state.db"), "--public-address=127.0.0.1:0",
                         "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"}));
  EXPECT_EQ(refused.exit_code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("cannot start"), HasSubstr("data center ams"),
                                 HasSubstr("/proc/meminfo leaves ")));

  SetAvailable(64 << 10);
  Start({}, Wrap({}));
  EXPECT_THAT(client_->Status().reload().last_error(), "");
}

#if !defined(__SANITIZE_ADDRESS__)  // it keeps what is freed, and adds to what is not

TEST_F(MemoryTest, AReloadOfOneDataCenterOfThreeTakesItsNewRingsMoreAndNoMore) {
  const auto write = [this](int weight) {
    Write({{.weight = 250, .first_weight = weight},
           {.name = "fra", .weight = 250, .first_weight = 250},
           {.name = "sin", .weight = 250, .first_weight = 250}});
  };
  write(250);
  Start();
  const std::int64_t rings = RingBytes();
  ASSERT_GT(rings, 100'000'000);
  const std::int64_t before = Memory("VmRSS");
  for (const int weight : {251, 252, 250}) {
    ForgetPeak();
    write(weight);
    ASSERT_THAT(client_->Reload(), IsOk());
    EXPECT_LT(static_cast<double>(Memory("VmHWM") - before), 1.5 * static_cast<double>(rings) / 3);
    // What is gone is the system's again.
    EXPECT_LT(static_cast<double>(Memory("VmRSS") - before), 0.1 * static_cast<double>(rings) / 3);
  }
}

TEST_F(MemoryTest, AReloadOfManySmallDataCentersTakesNoMoreThanOneOfThem) {
  const auto write = [this](int weight) {
    std::vector<Fleet> fleets;
    for (int i = 0; i < 60; ++i) {
      fleets.push_back({.name = "dc" + std::to_string(i), .weight = 4, .first_weight = weight});
    }
    Write(fleets);
  };
  write(4);
  Start();
  const std::int64_t rings = RingBytes();
  const std::int64_t before = Memory("VmRSS");
  for (const int weight : {5, 6, 4}) {
    ForgetPeak();
    write(weight);
    ASSERT_THAT(client_->Reload(), IsOk());
    EXPECT_LT(static_cast<double>(Memory("VmHWM") - before), 0.3 * static_cast<double>(rings));
  }
}

TEST_F(MemoryTest, TheMetricOfTheRingsIsWhatTheProcessTakesMore) {
  Start();
  const std::int64_t before = Memory("VmRSS") - RingBytes();
  Write({{.weight = 800}});
  ASSERT_EQ(Reload().outcome(), v1::RELOAD_OUTCOME_APPLIED);
  const std::string metrics = router_->Get("/metrics");
  double bytes = 0;
  for (const char* version : {"v1", "v2"}) {
    const std::string series =
        std::string("ringshift_ring_memory_bytes{data_center=\"ams\",ring_version=\"") + version +
        "\"} ";
    const std::size_t at = metrics.find(series);
    ASSERT_NE(at, std::string::npos);
    bytes += std::stod(metrics.substr(at + series.size()));
  }
  ASSERT_GT(bytes, 100e6);
  EXPECT_NEAR(static_cast<double>(Memory("VmRSS") - before) / bytes, 1, 0.03);
}

#endif

// Calls Route and RouteBatch, one after the other, until it is gone.
class Load {
 public:
  explicit Load(const RouterProcess& router)
      : stub_(v1::RoutingService::NewStub(router.PublicChannel())), thread_([this] { Run(); }) {}
  ~Load() { Stop(); }

  void Stop() {
    is_over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t calls() const { return calls_; }
  // REQUIRES: it was stopped. "" if there was none.
  const std::string& first_error() const { return first_error_; }

 private:
  void Run() {
    for (std::uint64_t i = 0; !is_over_; ++i) {
      const std::string data_center = i % 2 == 0 ? "ams" : "fra";
      v1::RouteRequest request;
      request.set_data_center(data_center);
      request.set_key("/img/" + std::to_string(i));
      v1::RouteResponse response;
      Count(&v1::RoutingService::Stub::Route, request, response);
      if (i % 10 != 0) continue;
      v1::RouteBatchRequest batch;
      batch.set_data_center(data_center);
      for (int key = 0; key < 1000; ++key) batch.add_keys(std::to_string(key));
      v1::RouteBatchResponse answers;
      Count(&v1::RoutingService::Stub::RouteBatch, batch, answers);
    }
  }
  template <typename Method, typename Request, typename Response>
  void Count(Method method, const Request& request, Response& response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const grpc::Status status = ((*stub_).*method)(&context, request, &response);
    ++calls_;
    if (!status.ok() && first_error_.empty()) first_error_ = status.error_message();
  }

  const std::unique_ptr<v1::RoutingService::Stub> stub_;
  std::atomic<bool> is_over_{false};
  std::atomic<std::uint64_t> calls_{0};
  std::string first_error_;
  std::thread thread_;
};

TEST_F(MemoryTest, AHundredReloadsUnderLoadFailNoCallAndLeaveNothingBehind) {
  // Rings of `ams` are pieces of a heap, those of `fra` are mapped one by one.
  const auto write = [this](int reload) {
    Write({{.weight = 4, .first_weight = 4 + reload % 7},
           {.name = "fra", .weight = 20, .first_weight = 20 + reload % 5}});
  };
  write(0);
  Start();
  Load first(*router_);
  Load second(*router_);
  [[maybe_unused]] std::int64_t early = 0;
  for (int reload = 1; reload <= 100; ++reload) {
    write(reload);
    const std::uint64_t calls = first.calls();
    const auto reloaded = client_->Reload();
    ASSERT_THAT(reloaded, IsOk());
    ASSERT_EQ(reloaded->changes_size(), 2);
    for (const v1::TopologyChange& change : reloaded->changes()) {
      EXPECT_NE(change.outcome(), v1::RELOAD_OUTCOME_FAILED) << change.reason();
    }
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (first.calls() == calls && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_GT(first.calls(), calls);
    if (reload == 20) early = Memory("VmRSS");
  }
  [[maybe_unused]] const std::int64_t late = Memory("VmRSS");
  for (Load* load : {&first, &second}) {
    load->Stop();
    EXPECT_EQ(load->first_error(), "");
  }
  EXPECT_EQ(client_->Status().reload().generation(), 101);
#if !defined(__SANITIZE_ADDRESS__)
  EXPECT_LT(late - early, 2 << 20) << early << " bytes after 20 reloads";
#endif
}

}  // namespace
}  // namespace ringshift::testing
