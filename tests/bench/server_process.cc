#include "tests/bench/server_process.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <httplib.h>
#include <time.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "ringshift/v1/migration.grpc.pb.h"
#include "ringshift/v1/topology.grpc.pb.h"
#include "routing/topology.h"
#include "routing/topology_writer.h"

namespace ringshift::bench {
namespace {

// To build the largest rings takes tens of seconds on a loaded machine.
constexpr std::chrono::minutes kStartPatience{5};

constexpr char kTopologyFile[] = "topology.yaml";

absl::Status DidNotStart(const testing::Process& process) {
  return absl::UnavailableError("the server did not start: " + process.Stderr());
}

}  // namespace

ServerProcess::ServerProcess(const std::vector<std::string>& argv)
    : process_(std::make_unique<testing::Process>(argv)) {}

absl::StatusOr<ServerProcess> ServerProcess::StartBenchServer(HandlerKind kind,
                                                              const BenchCase& bench_case,
                                                              std::size_t batch_keys) {
  ServerProcess server({RINGSHIFT_BENCH_BINARY, "--serve", std::string(HandlerName(kind)),
                        std::string(bench_case.name), std::to_string(batch_keys)});
  const std::optional<std::string> line =
      server.process_->WaitForStderr("address=", kStartPatience);
  if (!line) return DidNotStart(*server.process_);
  server.address_ = testing::LogValue(*line, "address");
  return server;
}

absl::StatusOr<ServerProcess> ServerProcess::StartRouter(const DataCenterSpec& spec) {
  auto files = std::make_unique<testing::TempDir>();
  const std::string topology = files->Write(kTopologyFile, WriteTopology(Topology{{spec}}));
  ServerProcess server({testing::Binary("ringshiftd"), "--topology=" + topology,
                        "--store=sqlite:" + files->File("state.db"), "--public-address=127.0.0.1:0",
                        "--admin-address=127.0.0.1:0", "--http-address=127.0.0.1:0"});
  server.files_ = std::move(files);
  const std::optional<std::string> listening =
      server.process_->WaitForStderr("msg=\"listening\"", kStartPatience);
  const std::optional<std::string> ready =
      server.process_->WaitForStderr("msg=\"ready\"", kStartPatience);
  if (!listening || !ready) return DidNotStart(*server.process_);
  server.address_ = testing::LogValue(*listening, "public");
  server.http_address_ = testing::LogValue(*listening, "http");
  server.admin_address_ = testing::LogValue(*listening, "admin");
  server.admin_ = grpc::CreateChannel(server.admin_address_, grpc::InsecureChannelCredentials());
  return server;
}

std::chrono::nanoseconds ServerProcess::CpuTime() const {
  clockid_t clock{};
  timespec time{};
  ::clock_getcpuclockid(process_->pid(), &clock);
  ::clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

absl::StatusOr<std::uint64_t> ServerProcess::StatusBytes(const std::string& field) const {
  const std::string path = "/proc/" + std::to_string(process_->pid()) + "/status";
  std::ifstream file(path);
  std::string word;
  std::uint64_t kibibytes = 0;
  while (file >> word) {
    if (word == field && file >> kibibytes) return kibibytes * 1024;
  }
  return absl::UnavailableError("no " + field + " in " + path);
}

absl::Status ServerProcess::Reload(const DataCenterSpec& spec) const {
  files_->Write(kTopologyFile, WriteTopology(Topology{{spec}}));
  const auto stub = v1::TopologyService::NewStub(admin_);
  grpc::ClientContext context;
  v1::ReloadTopologyResponse response;
  const grpc::Status status =
      stub->ReloadTopology(&context, v1::ReloadTopologyRequest(), &response);
  if (!status.ok()) return absl::FailedPreconditionError(absl::string_view(status.error_message()));
  for (const v1::TopologyChange& change : response.changes()) {
    if (change.outcome() != v1::RELOAD_OUTCOME_APPLIED) {
      return absl::FailedPreconditionError(absl::string_view(change.ShortDebugString()));
    }
  }
  return absl::OkStatus();
}

absl::Status SetShare(const std::shared_ptr<grpc::Channel>& admin, std::int32_t v2_ppm) {
  const auto stub = v1::MigrationService::NewStub(admin);
  grpc::ClientContext context;
  v1::SetMigrationRequest request;
  request.mutable_selector()->set_all(true);
  request.set_v2_ppm(v2_ppm);
  v1::SetMigrationResponse response;
  const grpc::Status status = stub->SetMigration(&context, request, &response);
  if (status.ok()) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::string_view(status.error_message()));
}

absl::StatusOr<double> ServerProcess::SumOfMetric(const std::string& name) const {
  httplib::Client client("http://" + http_address_);
  const httplib::Result result = client.Get("/metrics");
  if (!result || result->status != 200) {
    return absl::UnavailableError("http://" + http_address_ + "/metrics does not answer");
  }
  double sum = 0;
  bool is_there = false;
  std::istringstream lines(result->body);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name + "{") && !line.starts_with(name + " ")) continue;
    sum += std::stod(line.substr(line.rfind(' ') + 1));
    is_there = true;
  }
  if (!is_there) return absl::NotFoundError("no metric " + name);
  return sum;
}

}  // namespace ringshift::bench
