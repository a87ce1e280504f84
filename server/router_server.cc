#include "server/router_server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "server/log.h"
#include "server/table_handler.h"
#include "server/topology_file.h"
#include "server/watch_methods.h"

namespace ringshift {
namespace {

// A draining router answers until no call has come for kQuiet, or kDrainTime is over; then it
// refuses until none has come for kQuietWhileRefusing, or kRefuseTime is over.
constexpr std::chrono::milliseconds kQuiet{1000};
constexpr std::chrono::milliseconds kDrainTime{2000};
constexpr std::chrono::milliseconds kQuietWhileRefusing{100};
constexpr std::chrono::milliseconds kRefuseTime{1000};

// A file that is written in steps further apart than this is taken for one that is there.
constexpr std::chrono::milliseconds kPauseBetweenReads{300};
constexpr std::chrono::seconds kWatchPause{1};
constexpr std::chrono::seconds kRatePause{1};
constexpr std::chrono::seconds kCatchUpPause{1};
constexpr std::chrono::milliseconds kTellWatchesPause{100};
constexpr std::chrono::seconds kCheckStorePause{5};
constexpr std::chrono::seconds kRefreshPause{1};
// How long a look at the topology file may take when the router stops.
constexpr std::chrono::milliseconds kMoment{500};

// Streams of a method that may be open. Each takes some 17 KiB.
constexpr std::size_t kMaxRoutingWatches = 16'384;
constexpr std::size_t kMaxMigrationWatches = 64;

constexpr const char* kPublicFlag = "--public-address";
constexpr const char* kAdminFlag = "--admin-address";
constexpr const char* kHttpFlag = "--http-address";

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

TopologyController::Options TopologyOptions(const RouterOptions& options) {
  return {options.topology_path,
          options.data_centers,
          options.limits,
          SystemWallTime,
          [] { std::this_thread::sleep_for(kPauseBetweenReads); },
          MemoryBudget(options.build_memory)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<RouterServer>> RouterServer::Start(const RouterOptions& options,
                                                                  Lifecycle& lifecycle) {
  // Before the store is made: it is new only once.
  if (absl::Status free = CheckAddresses(options); !free.ok()) return free;
  if (MayMakeStore(options)) {
    absl::Status usable = TopologyController::CheckFirstFile(TopologyOptions(options));
    if (!usable.ok()) return usable;
  }
  absl::StatusOr<OpenedStore> store = OpenStore(options);
  if (!store.ok()) return store.status();
  if (store->created) {
    LogWarn("the store is new: every data center starts at share 0", {{"store", store->name}});
  }
  std::unique_ptr<RouterServer> server(new RouterServer(options, *std::move(store), lifecycle));
  if (absl::Status listening = server->Listen(options); !listening.ok()) return listening;
  return server;
}

RouterServer::RouterServer(const RouterOptions& options, OpenedStore store, Lifecycle& lifecycle)
    : store_(std::move(store.store)),
      lifecycle_(lifecycle),
      store_health_(std::move(store.name), store.created, *store_,
                    std::move(store.revision_regressions)),
      migrations_(*store_, directory_, {options.data_centers, options.warm_window, SystemWallTime}),
      topology_(TopologyOptions(options), *store_, migrations_, directory_, route_metrics_),
      outcome_counts_(directory_),
      rates_(route_metrics_, outcome_counts_),
      forecaster_(route_metrics_, rates_,
                  [this](std::string_view name) { return outcome_counts_.HitRatio(name); }),
      metrics_(directory_, route_metrics_, rates_, migrations_, topology_, store_health_,
               outcome_counts_, routing_watches_, migration_watches_),
      check_store_("check of the store", changes_, [this] { store_health_.Check(); }),
      catch_up_("catching up of the topology", reloads_,
                [this] {
                  topology_.RestoreRings();
                  topology_.SavePending();
                  topology_.RetryFailed();
                }),
      // What becomes of it is in the log.
      take_changes_("taking changes of others", changes_, [this] { migrations_.CatchUp(); }),
      // What becomes of it is in the migrations and in the log.
      save_rollbacks_("saving of rollbacks", changes_,
                      [this] { migrations_.SaveRollbacks().IgnoreError(); }),
      // What becomes of it is in the status and in the log.
      reload_by_signal_(
          "reload by SIGHUP", reloads_,
          [this] { topology_.Reload(ReloadTrigger::kSignal, "SIGHUP").IgnoreError(); }),
      reload_by_file_(topology_, reloads_),
      watcher_({[this] { return ReadTopologyFile(topology_.path()); },
                [this] { return reload_by_file_.Known(); },
                [this](std::string checksum) { reload_by_file_.TakeUp(std::move(checksum)); }}),
      routing_service_(lifecycle_, directory_),
      migration_service_(lifecycle_, migrations_, *store_, rates_, forecaster_, changes_, reads_),
      topology_service_(lifecycle_, directory_, topology_, reloads_, reads_),
      status_service_(lifecycle_, SystemWallTime(), store_health_, topology_, directory_),
      outcome_reporters_(options.outcome_reporters),
      outcome_calls_(routing_service_, lifecycle_, outcome_reporters_, outcome_counts_),
      watch_states_(directory_, migrations_),
      routing_watches_(watch_states_.routing(),
                       WatchRoutingMethod(routing_service_, lifecycle_, directory_),
                       {.max_calls = kMaxRoutingWatches, .waits_for_look = true}),
      migration_watches_(watch_states_.migrations(),
                         WatchMigrationsMethod(migration_service_, lifecycle_),
                         {.max_calls = kMaxMigrationWatches, .waits_for_look = true}) {
  migrations_.SetChurnOf([this](const RoutingTable& table, Share from, Share to) {
    return forecaster_.Churn(table, from, to);
  });
}

RouterServer::~RouterServer() { Stop(std::chrono::milliseconds(0)); }

absl::Status RouterServer::Listen(const RouterOptions& options) {
  grpc::EnableDefaultHealthCheckService(false);  // HealthCalls takes its place
  if (options.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();

  ListenAddress public_address = options.public_address;
  RoutingServer::Options limits;
  limits.max_concurrent_calls = options.max_concurrent_calls;
  absl::StatusOr<std::unique_ptr<RoutingServer>> public_server = RoutingServer::Start(
      public_address, limits, routing_service_,
      [this] { return std::make_unique<TableHandler>(lifecycle_, directory_, &route_metrics_); },
      {&outcome_calls_, &routing_watches_});
  if (!public_server.ok()) return Annotate(kPublicFlag, public_server.status());
  public_server_ = *std::move(public_server);

  ListenAddress admin_address = options.admin_address;
  absl::StatusOr<std::unique_ptr<AdminServer>> admin_server = AdminServer::Start(
      admin_address, {&migration_service_, &topology_service_, &status_service_},
      {v1::MigrationService::service_full_name(), v1::TopologyService::service_full_name(),
       v1::StatusService::service_full_name()},
      {&migration_watches_});
  if (!admin_server.ok()) return Annotate(kAdminFlag, admin_server.status());
  admin_server_ = *std::move(admin_server);

  absl::StatusOr<std::unique_ptr<HttpServer>> http_server = HttpServer::Start(
      options.http_address, {[this]() -> std::optional<std::string> {
                               if (lifecycle_.phase() == Phase::kStarting) return std::nullopt;
                               return metrics_.ToText();
                             },
                             [this] { return lifecycle_.phase() == Phase::kServing; },
                             [this]() -> std::string {
                               const std::optional<std::string> stale = store_health_.stale();
                               return stale ? "the store is stale: " + *stale : "";
                             }});
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
  store_health_.Check();
  if (absl::Status loaded = migrations_.Load(); !loaded.ok()) return loaded;
  if (absl::Status started = topology_.Start(); !started.ok()) return started;
  for (const MigrationController::View& view : migrations_.Migrations()) {
    if (view.table != nullptr) continue;
    LogInfo(
        "migration kept for a data center that is not served",
        {{"data_center", view.migration.data_center}, {"share", view.migration.share.ToPercent()}});
  }
  const std::chrono::duration<double> duration = std::chrono::steady_clock::now() - start_;
  metrics_.SetStartupDuration(duration);
  rates_.Sample();  // so that the first key counts
  TellWatches();    // the first of them finds all
  lifecycle_.StartServing();
  SetHealth(true);
  StartPeriodicTasks();
  LogInfo("ready", {{"data_centers", std::to_string(directory_.Tables().size())},
                    {"seconds", FormatSeconds(duration)}});
  return absl::OkStatus();
}

void RouterServer::StartPeriodicTasks() {
  store_->SetListener([this] { take_changes_.Post(); });
  take_changes_.Post();  // what came before
  const auto add = [this](std::chrono::milliseconds pause, std::function<void()> run) {
    periodic_tasks_.push_back(std::make_unique<PeriodicTask>(pause, std::move(run)));
  };
  add(kCheckStorePause, [this] { check_store_.Post(); });
  add(kCatchUpPause, [this] { catch_up_.Post(); });
  add(kRefreshPause, [this] {
    migrations_.Refresh();
    if (migrations_.HasUnsavedRollbacks()) save_rollbacks_.Post();
  });
  add(kWatchPause, [this] { watcher_.Look(); });
  add(kRatePause, [this] { rates_.Sample(); });
  add(kTellWatchesPause, [this] { TellWatches(); });
  migrations_.SetOnPublish([this, &tell = *periodic_tasks_.back()] {
    // At once, so that a watch has each of two changes that follow each other.
    if (routing_watches_.count() + migration_watches_.count() > 0) tell.RunSoon();
  });
}

void RouterServer::TellWatches() {
  routing_watches_.BeginLook();
  migration_watches_.BeginLook();
  const WatchStates::Changes changes = watch_states_.Look();
  routing_watches_.EndLook(changes.routing);
  migration_watches_.EndLook(changes.migrations);
  if (changes.migrations) admin_server_->TakeEventsSoon();
}

void RouterServer::EndStreams() {
  outcome_calls_.End();
  routing_watches_.End();
  migration_watches_.End();
}

void RouterServer::Drain() {
  SetHealth(false);
  EndStreams();
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
  std::uint64_t calls = route_metrics_.Calls();
  for (;;) {
    std::this_thread::sleep_for(kPoll);
    const Clock::time_point now = Clock::now();
    if (const std::uint64_t calls_now = route_metrics_.Calls(); calls_now != calls) {
      calls = calls_now;
      last_call = now;
    }
    if (now - last_call >= quiet) return true;
    if (now - start >= limit) return false;
  }
}

bool RouterServer::Stop(std::chrono::milliseconds grace) {
  EndStreams();
  const auto deadline = std::chrono::system_clock::now() + grace;
  const auto steady_deadline = std::chrono::steady_clock::now() + grace;
  std::thread admin([this, deadline] {
    if (admin_server_ != nullptr) admin_server_->Shutdown(deadline);
  });
  if (public_server_ != nullptr) public_server_->Shutdown(deadline);
  store_->SetListener(nullptr);
  // The admin server waits for calls that are still in a queue.
  bool all_ended = true;
  for (WorkQueue* queue : {&changes_, &reloads_, &reads_}) {
    all_ended = queue->Stop(steady_deadline) && all_ended;
  }
  admin.join();
  migrations_.SetOnPublish(nullptr);
  for (const std::unique_ptr<PeriodicTask>& task : periodic_tasks_) {
    all_ended = task->Stop(std::max(steady_deadline, std::chrono::steady_clock::now() + kMoment)) &&
                all_ended;
  }
  if (http_server_ != nullptr) http_server_->Stop(steady_deadline);
  LogLostRollbacks();
  return all_ended;
}

void RouterServer::LogLostRollbacks() {
  if (std::exchange(has_logged_lost_rollbacks_, true)) return;
  for (const Migration& stored : migrations_.StoredWhereUnsaved()) {
    LogError(
        "the rollback is not in the store and is lost with this stop: the share is back at the "
        "next start",
        {{"data_center", stored.data_center}, {"share", stored.share.ToPercent()}});
  }
}

void RouterServer::SetHealth(bool serving) {
  if (public_server_ != nullptr) public_server_->SetHealth(serving);
  if (admin_server_ != nullptr) admin_server_->SetHealth(serving);
}

}  // namespace ringshift
