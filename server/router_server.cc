#include "server/router_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "routing/topology_loader.h"
#include "server/log.h"

namespace ringshift {
namespace {

constexpr const char* kPublicService = v1::RoutingService::service_full_name();
constexpr const char* kAdminService = v1::MigrationService::service_full_name();

// A draining router answers until no call has come for kQuiet, or kDrainTime is over; then it
// refuses until none has come for kQuietWhileRefusing, or kRefuseTime is over.
constexpr std::chrono::milliseconds kQuiet{1000};
constexpr std::chrono::milliseconds kDrainTime{2000};
constexpr std::chrono::milliseconds kQuietWhileRefusing{100};
constexpr std::chrono::milliseconds kRefuseTime{1000};

constexpr const char* kPublicFlag = "--public-address";
constexpr const char* kAdminFlag = "--admin-address";
constexpr const char* kHttpFlag = "--http-address";

std::string FormatSeconds(std::chrono::duration<double> duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", duration.count());
  return text;
}

// Leaves the data centers called `names`, or all if there are no names.
absl::Status Select(const std::vector<std::string>& names, Topology& topology) {
  if (names.empty()) return absl::OkStatus();
  for (const std::string& name : names) {
    if (topology.Find(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const DataCenterSpec& spec : topology.data_centers) known.push_back(spec.name);
    return absl::NotFoundError("--data-centers: " + UnknownNameMessage("data center", name, known));
  }
  std::erase_if(topology.data_centers, [&names](const DataCenterSpec& spec) {
    return std::find(names.begin(), names.end(), spec.name) == names.end();
  });
  return absl::OkStatus();
}

// The error of a listener, with its flag.
absl::Status Annotate(std::string_view flag, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::string_view(std::string(flag) + ": " + std::string(status.message())));
}

// Whether two listeners would want one port.
bool Collide(const ListenAddress& a, const ListenAddress& b) {
  const auto is_any = [](const ListenAddress& address) {
    return address.host == "0.0.0.0" || address.host == "::";
  };
  return a.port != 0 && a.port == b.port && (a.host == b.host || is_any(a) || is_any(b));
}

// Whether all three listeners could have their addresses now.
absl::Status CheckAddresses(const RouterOptions& options) {
  const std::pair<std::string, const ListenAddress&> listeners[] = {
      {kPublicFlag, options.public_address},
      {kAdminFlag, options.admin_address},
      {kHttpFlag, options.http_address}};
  for (const auto& [flag, address] : listeners) {
    for (const auto& [other_flag, other] : listeners) {
      if (flag == other_flag) break;
      if (!Collide(address, other)) continue;
      return absl::InvalidArgumentError(other_flag + "=" + other.ToString() + " and " + flag + "=" +
                                        address.ToString() + " are one port; choose another");
    }
    if (absl::Status free = CheckFree(address); !free.ok()) return Annotate(flag, free);
  }
  return absl::OkStatus();
}

// For the service and for the server as a whole.
void SetHealth(grpc::Server& server, const char* service, bool serving) {
  grpc::HealthCheckServiceInterface* health = server.GetHealthCheckService();
  health->SetServingStatus("", serving);
  health->SetServingStatus(service, serving);
}

// Its health is NOT_SERVING. Puts the port that it really has into `address`.
absl::StatusOr<std::unique_ptr<grpc::Server>> StartGrpcServer(grpc::Service& service,
                                                              const char* service_name,
                                                              ListenAddress& address) {
  if (absl::Status free = CheckFree(address); !free.ok()) return free;
  const std::string wanted = address.ToString();
  grpc::ServerBuilder builder;
  // Without it a second router on the port would silently take half of the calls.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(wanted, grpc::InsecureServerCredentials(), &address.port);
  builder.RegisterService(&service);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || address.port <= 0) {
    return absl::UnavailableError("cannot listen on " + wanted);
  }
  SetHealth(*server, service_name, false);
  return server;
}

// The state that the store keeps for data centers that are not served, so that nobody wonders
// later.
absl::Status ReportOrphans(MigrationStore& store, const Topology& topology) {
  absl::StatusOr<std::vector<Migration>> migrations = store.Load();
  if (!migrations.ok()) return migrations.status();
  for (const Migration& migration : *migrations) {
    if (topology.Find(migration.data_center) != nullptr) continue;
    LogInfo("migration kept for a data center that is not served",
            {{"data_center", migration.data_center}, {"share", migration.share.ToPercent()}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RouterServer>> RouterServer::Start(const RouterOptions& options,
                                                                  Lifecycle& lifecycle) {
  absl::StatusOr<LoadedTopology> loaded = LoadTopologyFile(options.topology_path);
  if (!loaded.ok()) return loaded.status();
  for (const std::string& warning : loaded->warnings) LogWarn("topology", {{"warning", warning}});
  if (absl::Status selected = Select(options.data_centers, loaded->topology); !selected.ok()) {
    return selected;
  }

  // Before the store is made: it is new only once.
  if (absl::Status free = CheckAddresses(options); !free.ok()) return free;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(options.sqlite_path);
  if (!store.ok()) return store.status();
  if ((*store)->created()) {
    LogWarn("the store is new: every data center starts at share 0",
            {{"store", "sqlite:" + options.sqlite_path}});
  }
  if (absl::Status read = ReportOrphans(**store, loaded->topology); !read.ok()) return read;

  std::unique_ptr<RouterServer> server(
      new RouterServer(std::move(loaded->topology), *std::move(store), lifecycle));
  if (absl::Status listening = server->Listen(options); !listening.ok()) return listening;
  return server;
}

RouterServer::RouterServer(Topology topology, std::unique_ptr<SqliteStore> store,
                           Lifecycle& lifecycle)
    : topology_(std::move(topology)),
      store_(std::move(store)),
      lifecycle_(lifecycle),
      controller_(*store_, directory_),
      route_metrics_(topology_.data_centers),
      metrics_(directory_, route_metrics_),
      routing_service_(lifecycle_, directory_, route_metrics_),
      migration_service_(lifecycle_, directory_, controller_) {}

RouterServer::~RouterServer() { Stop(std::chrono::milliseconds(0)); }

absl::Status RouterServer::Listen(const RouterOptions& options) {
  grpc::EnableDefaultHealthCheckService(true);
  if (options.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  ListenAddress public_address = options.public_address;
  absl::StatusOr<std::unique_ptr<grpc::Server>> public_server =
      StartGrpcServer(routing_service_, kPublicService, public_address);
  if (!public_server.ok()) return Annotate(kPublicFlag, public_server.status());
  public_server_ = *std::move(public_server);

  ListenAddress admin_address = options.admin_address;
  absl::StatusOr<std::unique_ptr<grpc::Server>> admin_server =
      StartGrpcServer(migration_service_, kAdminService, admin_address);
  if (!admin_server.ok()) return Annotate(kAdminFlag, admin_server.status());
  admin_server_ = *std::move(admin_server);

  absl::StatusOr<std::unique_ptr<HttpServer>> http_server = HttpServer::Start(
      options.http_address, {[this]() -> std::optional<std::string> {
                               if (lifecycle_.phase() == Phase::kStarting) return std::nullopt;
                               return metrics_.ToText();
                             },
                             [this] { return lifecycle_.phase() == Phase::kServing; }});
  if (!http_server.ok()) return Annotate(kHttpFlag, http_server.status());
  http_server_ = *std::move(http_server);

  LogInfo("listening", {{"public", public_address.ToString()},
                        {"admin", admin_address.ToString()},
                        {"http", http_server_->address().ToString()}});
  if (!admin_address.IsLoopback()) {
    LogWarn("whoever reaches the admin port can change shares: it has no authentication",
            {{"admin", admin_address.ToString()}});
  }
  return absl::OkStatus();
}

absl::Status RouterServer::BuildAndServe() {
  for (const DataCenterSpec& spec : topology_.data_centers) {
    absl::StatusOr<std::shared_ptr<const DataCenter>> data_center = DataCenter::Build(spec);
    if (!data_center.ok()) return data_center.status();
    if (absl::Status adopted = controller_.Adopt(*std::move(data_center)); !adopted.ok()) {
      return adopted;
    }
  }
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start_;
  metrics_.SetStartupDuration(duration);
  lifecycle_.StartServing();
  SetHealth(true);
  LogInfo("ready", {{"data_centers", std::to_string(topology_.data_centers.size())},
                    {"seconds", FormatSeconds(duration)}});
  return absl::OkStatus();
}

void RouterServer::Drain() {
  SetHealth(false);
  // gRPC cancels what arrives while a server shuts down, so that begins only when nothing arrives
  // any more: when clients have seen NOT_SERVING, or have been refused for a while.
  if (!WaitUntilQuiet(kQuiet, kDrainTime)) {
    lifecycle_.StartRefusing();
    WaitUntilQuiet(kQuietWhileRefusing, kRefuseTime);
  }
}

bool RouterServer::WaitUntilQuiet(std::chrono::milliseconds quiet,
                                  std::chrono::milliseconds limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds kPoll{10};
  const Clock::time_point start = Clock::now();
  Clock::time_point last_call = start;
  std::uint64_t calls = route_metrics_.RouteCalls();
  for (;;) {
    std::this_thread::sleep_for(kPoll);
    const Clock::time_point now = Clock::now();
    if (const std::uint64_t calls_now = route_metrics_.RouteCalls(); calls_now != calls) {
      calls = calls_now;
      last_call = now;
    }
    if (now - last_call >= quiet) return true;
    if (now - start >= limit) return false;
  }
}

bool RouterServer::Stop(std::chrono::milliseconds grace) {
  const auto deadline = std::chrono::system_clock::now() + grace;
  const auto steady_deadline = std::chrono::steady_clock::now() + grace;
  std::thread admin([this, deadline] {
    if (admin_server_ != nullptr) admin_server_->Shutdown(deadline);
  });
  if (public_server_ != nullptr) public_server_->Shutdown(deadline);
  const bool changes_ended = migration_service_.StopChanges(steady_deadline);
  admin.join();
  if (http_server_ != nullptr) http_server_->Stop(steady_deadline);
  return changes_ended;
}

void RouterServer::SetHealth(bool serving) {
  if (public_server_ != nullptr) ringshift::SetHealth(*public_server_, kPublicService, serving);
  if (admin_server_ != nullptr) ringshift::SetHealth(*admin_server_, kAdminService, serving);
}

}  // namespace ringshift
