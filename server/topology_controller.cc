#include "server/topology_controller.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "routing/topology_loader.h"
#include "routing/topology_writer.h"
#include "server/heap.h"
#include "server/log.h"
#include "server/node_history.h"
#include "server/selection.h"
#include "server/topology_file.h"
#include "server/topology_log.h"

namespace ringshift {
namespace {

using Change = TopologyController::Change;
using Outcome = Change::Outcome;
using Result = TopologyController::Result;

// Of the start, of signals and of what the file itself says.
constexpr std::string_view kOwnActor = "ringshiftd";

// NOT_FOUND if `file` lacks one of `names`.
absl::Status CheckSelected(const std::vector<std::string>& names, const Topology& file) {
  for (const std::string& name : names) {
    if (file.Find(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const DataCenterSpec& spec : file.data_centers) known.push_back(spec.name);
    return absl::NotFoundError(
        absl::string_view("--data-centers: " + UnknownNameMessage("data center", name, known)));
  }
  return absl::OkStatus();
}

std::size_t CountOf(const std::vector<Change>& changes, Outcome outcome) {
  return static_cast<std::size_t>(
      std::count_if(changes.begin(), changes.end(),
                    [outcome](const Change& change) { return change.outcome == outcome; }));
}

Result ResultOf(const std::vector<Change>& changes) {
  if (CountOf(changes, Outcome::kFailed) > 0) return Result::kFailed;
  if (CountOf(changes, Outcome::kHeld) > 0) return Result::kHeld;
  return CountOf(changes, Outcome::kApplied) > 0 ? Result::kApplied : Result::kUnchanged;
}

// The data center that the text of a store has.
absl::StatusOr<DataCenterSpec> ParseStored(const StoredTopology& stored) {
  const std::string place = "the store's topology of data center \"" + stored.data_center + "\"";
  absl::StatusOr<LoadedTopology> loaded = ParseTopology(stored.text, place);
  std::string why = loaded.ok() ? "" : std::string(loaded.status().message());
  if (loaded.ok()) {
    std::vector<DataCenterSpec>& specs = loaded->topology.data_centers;
    if (specs.size() == 1 && specs.front().name == stored.data_center) {
      return std::move(specs.front());
    }
    why = place + " is of another data center";
  }
  return absl::DataLossError(why + "; restore the store from a backup");
}

std::string ReasonToHoldTheLoss(std::size_t nodes) {
  return "the file does not list it any more: that drops all of its " + std::to_string(nodes) +
         " nodes and moves 100% of its key space";
}

}  // namespace

TopologyController::TopologyController(Options options, MigrationStore& store,
                                       MigrationController& migrations, RoutingDirectory& directory,
                                       RouteMetrics& route_metrics)
    : options_(std::move(options)),
      store_(store),
      migrations_(migrations),
      directory_(directory),
      route_metrics_(route_metrics) {}

absl::Status TopologyController::CheckFirstFile(const Options& options) {
  const absl::StatusOr<std::string> bytes =
      ReadSettledTopologyFile(options.path, options.pause_between_reads);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<LoadedTopology> loaded = ParseTopology(*bytes, options.path);
  if (!loaded.ok()) return loaded.status();
  return Select(options, /*is_first=*/true, loaded->topology);
}

absl::Status TopologyController::Select(const Options& options, bool is_first, Topology& file) {
  if (is_first) {
    if (absl::Status all = CheckSelected(options.data_centers, file); !all.ok()) return all;
  }
  std::erase_if(file.data_centers, [&options](const DataCenterSpec& spec) {
    return !IsSelected(options.data_centers, spec.name);
  });
  return is_first ? options.memory.CheckFirstStart(file.data_centers) : absl::OkStatus();
}

absl::Status TopologyController::Start() {
  absl::StatusOr<std::size_t> stored = ServeStored();
  if (!stored.ok()) return stored.status();
  // What becomes of it is in status_.
  Reload(ReloadTrigger::kStart, std::string(kOwnActor)).IgnoreError();
  if (*stored == 0) return status().last_error;
  for (const std::string& name : options_.data_centers) {
    if (directory_.Find(name).ok()) continue;
    LogError(
        "a data center of --data-centers is not served: neither the store nor the topology has it",
        {{"data_center", name}});
  }
  return absl::OkStatus();
}

absl::StatusOr<std::size_t> TopologyController::ServeStored() {
  absl::StatusOr<std::vector<StoredTopology>> topologies = store_.LoadTopologies();
  if (!topologies.ok()) return topologies.status();
  std::size_t served = 0;
  for (const StoredTopology& stored : *topologies) {
    if (!IsSelected(options_.data_centers, stored.data_center)) continue;
    absl::StatusOr<DataCenterSpec> spec = ParseStored(stored);
    if (!spec.ok()) return spec.status();
    absl::StatusOr<std::shared_ptr<const DataCenter>> built =
        BuildStored(*spec, migrations_.RetiredRingOf(spec->name));
    // What answered before answers again, also where a ring that is wanted since has no room.
    const absl::Status missing = built.status();
    if (absl::IsResourceExhausted(missing)) {
      for (const RetiredRing without : migrations_.DispensableRings(spec->name)) {
        if (!built.ok()) built = BuildStored(*spec, without);
      }
    }
    if (!built.ok()) return missing;
    CountBuilds(**built, nullptr);
    absl::StatusOr<NodeHistory> node_history = NodeHistory::Parse(stored.node_changes);
    if (!node_history.ok()) {
      return absl::DataLossError(absl::string_view(
          "data center \"" + spec->name + "\": " + std::string(node_history.status().message()) +
          "; restore the store from a backup"));
    }
    const WallTime now = options_.clock();
    node_history->Bound(**built, now, now - migrations_.warm_window());
    const absl::Status adopted =
        migrations_.Adopt(*built, *node_history, [&](const Migration&, Share) {
          route_metrics_.Serve(**built);
          return absl::OkStatus();
        });
    if (!adopted.ok()) return adopted;
    node_histories_[spec->name] = *std::move(node_history);
    if (!missing.ok()) FailRestore(spec->name, missing);
    ++served;
  }
  return served;
}

absl::StatusOr<std::shared_ptr<const DataCenter>> TopologyController::BuildStored(
    const DataCenterSpec& spec, RetiredRing without) const {
  if (absl::Status fits = options_.memory.CheckRestart(spec, without); !fits.ok()) return fits;
  return DataCenter::Build(spec, nullptr, without);
}

absl::StatusOr<std::vector<Change>> TopologyController::Reload(ReloadTrigger trigger,
                                                               const std::string& actor) {
  return TakeUp(ReadSettledTopologyFile(options_.path, options_.pause_between_reads), trigger,
                actor);
}

void TopologyController::ReloadIfHolding(const std::string& checksum, ReloadTrigger trigger,
                                         const std::string& actor) {
  const absl::StatusOr<std::string> bytes = ReadTopologyFile(options_.path);
  if (ChecksumOfRead(bytes) == checksum) TakeUp(bytes, trigger, actor).IgnoreError();
}

absl::StatusOr<std::vector<Change>> TopologyController::TakeUp(
    const absl::StatusOr<std::string>& bytes, ReloadTrigger trigger, const std::string& actor) {
  const auto start = std::chrono::steady_clock::now();
  failed_.reset();
  if (!bytes.ok()) return Refuse(bytes.status(), "", trigger, actor);
  const std::string checksum = TopologyChecksum(*bytes);
  absl::StatusOr<Topology> topology = Parse(*bytes);
  if (!topology.ok()) return Refuse(topology.status(), checksum, trigger, actor);

  std::set<std::string> names;
  for (const DataCenterSpec& spec : topology->data_centers) names.insert(spec.name);
  for (const auto& table : directory_.Tables()) names.insert(table->data_center().name());
  const Origin origin{
      actor, "reload of the topology file (" + std::string(ReloadTriggerName(trigger)) + ")",
      checksum};
  // What a flood of calls has left behind, too, where nothing has changed.
  ReturnFreePages();
  std::vector<Change> changes;
  held_.clear();
  absl::Status error;
  for (const std::string& name : names) {
    const DataCenterSpec* const spec = topology->Find(name);
    Change change = Take(name, spec, &options_.limits, origin);
    if (change.outcome != Outcome::kUnchanged) ReturnFreePages();
    LogTopologyChange(change, checksum, trigger);
    if (change.outcome == Outcome::kHeld) {
      held_[name] = spec == nullptr ? std::nullopt : std::optional(*spec);
    } else if (change.outcome == Outcome::kFailed) {
      if (change.code == absl::StatusCode::kUnavailable) failed_ = {checksum, trigger, actor};
      if (error.ok()) error = absl::Status(change.code, absl::string_view(change.reason));
    }
    changes.push_back(std::move(change));
  }

  const Result result = ResultOf(changes);
  std::int64_t generation = 0;
  {
    const absl::MutexLock lock(&mutex_);
    ++counts_[static_cast<std::size_t>(result)];
    status_.checksum = checksum;
    status_.last_attempt = options_.clock();
    status_.last_trigger = trigger;
    status_.last_error = error;
    if (result == Result::kApplied || result == Result::kUnchanged) {
      status_.last_success = status_.last_attempt;
    }
    if (CountOf(changes, Outcome::kApplied) > 0) ++status_.generation;
    generation = status_.generation;
    status_.held.clear();
    std::copy_if(changes.begin(), changes.end(), std::back_inserter(status_.held),
                 [](const Change& change) { return change.outcome == Outcome::kHeld; });
  }
  Log(result == Result::kFailed ? LogLevel::kError
                                : (result == Result::kHeld ? LogLevel::kWarn : LogLevel::kInfo),
      "topology reloaded",
      {{"result", std::string(ReloadResultName(result))},
       {"trigger", std::string(ReloadTriggerName(trigger))},
       {"actor", actor},
       {"file", options_.path},
       {"checksum", checksum},
       {"generation", std::to_string(generation)},
       {"unchanged", std::to_string(CountOf(changes, Outcome::kUnchanged))},
       {"applied", std::to_string(CountOf(changes, Outcome::kApplied))},
       {"held", std::to_string(CountOf(changes, Outcome::kHeld))},
       {"failed", std::to_string(CountOf(changes, Outcome::kFailed))},
       {"seconds", FormatSeconds(std::chrono::steady_clock::now() - start)}});
  return changes;
}

absl::StatusOr<Topology> TopologyController::Parse(std::string_view bytes) const {
  absl::StatusOr<LoadedTopology> loaded = ParseTopology(bytes, options_.path);
  if (!loaded.ok()) return loaded.status();
  for (const std::string& warning : loaded->warnings) LogWarn("topology", {{"warning", warning}});
  const bool is_first = directory_.Tables().empty();
  absl::Status selected = Select(options_, is_first, loaded->topology);
  if (!selected.ok()) return selected;
  for (const DataCenterSpec& spec : loaded->topology.data_centers) {
    if (absl::Status kept = CheckServedRings(spec); !kept.ok()) return kept;
  }
  return std::move(loaded->topology);
}

absl::Status TopologyController::CheckServedRings(const DataCenterSpec& spec) const {
  const auto table = directory_.Find(spec.name);
  if (!table.ok()) return absl::OkStatus();
  const DataCenterSpec& served = (*table)->data_center().spec();
  absl::Status kept = CheckAnsweringRings(served, spec, (*table)->migration().share);
  return kept.ok() ? CheckAnsweringRings(served, spec, (*table)->share()) : kept;
}

absl::Status TopologyController::Refuse(absl::Status error, const std::string& checksum,
                                        ReloadTrigger trigger, const std::string& actor) {
  LogError("topology refused; what is served goes on",
           {{"trigger", std::string(ReloadTriggerName(trigger))},
            {"actor", actor},
            {"file", options_.path},
            {"checksum", checksum},
            {"error", std::string(error.message())}});
  held_.clear();
  const absl::MutexLock lock(&mutex_);
  ++counts_[static_cast<std::size_t>(Result::kFailed)];
  status_.checksum = checksum;
  status_.last_attempt = options_.clock();
  status_.last_trigger = trigger;
  status_.last_error = error;
  status_.held.clear();
  return error;
}

Change TopologyController::Take(const std::string& name, const DataCenterSpec* spec,
                                const ReloadLimits* limits, const Origin& origin) {
  Change change;
  change.data_center = name;
  std::shared_ptr<const DataCenter> served;
  if (const auto table = directory_.Find(name); table.ok()) {
    served = (*table)->shared_data_center();
    change.share = (*table)->share();
    change.nodes.before = change.nodes.after = served->node_set().size();
    if (spec != nullptr && *spec == served->spec()) return change;
  }
  if (spec == nullptr) {
    if (served != nullptr) TakeAway(*served, limits, origin, change);
  } else {
    Build(*spec, served.get(), limits, origin, change);
  }
  return change;
}

void TopologyController::TakeAway(const DataCenter& served, const ReloadLimits* limits,
                                  const Origin& origin, Change& change) {
  change.nodes = {};
  change.nodes.before = change.nodes.removed = served.node_set().size();
  if (limits != nullptr && (limits->max_moved_ratio < 1 || limits->max_removed_ratio < 1)) {
    change.outcome = Outcome::kHeld;
    change.reason = ReasonToHoldTheLoss(change.nodes.before);
    return;
  }
  migrations_.Drop(served.name());
  route_metrics_.Drop(served.name());
  node_histories_.erase(served.name());
  change.outcome = Outcome::kApplied;
  Save({served.name(),
        std::nullopt,
        {},
        origin.actor,
        origin.reason,
        DescribeForHistory(change) + "; topology " + origin.checksum});
}

void TopologyController::Build(const DataCenterSpec& spec, const DataCenter* served,
                               const ReloadLimits* limits, const Origin& origin, Change& change) {
  const auto fail = [&change](const absl::Status& status) {
    change.outcome = Outcome::kFailed;
    change.code = status.code();
    change.reason = std::string(status.message());
  };
  // What is known before the rings are built, and all that is told of one that has failed.
  change.nodes.after = spec.nodes.size();
  if (served == nullptr) change.nodes.added = change.nodes.after;
  // What is served must be what a restart can read.
  std::string text = WriteTopology({{spec}});
  if (text.size() > kMaxTopologyBytes) {
    return fail(absl::InvalidArgumentError(absl::string_view(
        "data center \"" + spec.name + "\": stored it would have " + std::to_string(text.size()) +
        " bytes; it must have at most " + std::to_string(kMaxTopologyBytes))));
  }
  const RetiredRing retired = migrations_.RetiredRingOf(spec.name);
  const absl::Status fits = options_.memory.CheckChange(spec, served, retired);
  if (!fits.ok()) return fail(fits);
  absl::StatusOr<std::shared_ptr<const DataCenter>> built =
      DataCenter::Build(spec, served, retired);
  if (!built.ok()) return fail(built.status());
  CountBuilds(**built, served);
  if (served != nullptr) {
    change.difference = DescribeChange(*served, **built);
    change.nodes = change.difference->nodes;
  }

  NodeHistory node_history;
  if (served != nullptr) {
    const WallTime now = options_.clock();
    node_history = node_histories_[spec.name];
    node_history.Change(*served, **built, now, now - migrations_.warm_window());
  }

  // The share can have changed since the file was checked.
  std::string held;
  const auto check = [&](const Migration& migration, Share effective) {
    change.share = effective;
    if (served != nullptr) {
      for (const Share share : {migration.share, effective}) {
        absl::Status kept = CheckAnsweringRings(served->spec(), spec, share);
        if (!kept.ok()) return kept;
      }
      if (limits != nullptr) held = ReasonToHold(*change.difference, change.share, *limits);
      if (!held.empty()) return absl::FailedPreconditionError(absl::string_view(held));
    }
    route_metrics_.Serve(**built);
    return absl::OkStatus();
  };
  const absl::Status adopted = migrations_.Adopt(*built, node_history, check);
  if (!held.empty()) {
    change.outcome = Outcome::kHeld;
    change.reason = std::move(held);
    return;
  }
  if (!adopted.ok()) {
    if (served == nullptr) route_metrics_.Drop(spec.name);
    return fail(adopted);
  }
  change.outcome = Outcome::kApplied;
  LogLongWalks(**built);
  std::vector<NodeChange> node_changes = node_history.ToStored();
  node_histories_[spec.name] = std::move(node_history);
  Save({spec.name, std::move(text), std::move(node_changes), origin.actor, origin.reason,
        DescribeForHistory(change) + "; topology " + origin.checksum});
}

void TopologyController::CountBuilds(const DataCenter& built, const DataCenter* served) {
  const auto is_new = [](const DataCenter::BuiltRing* ring, const DataCenter::BuiltRing* before) {
    return ring != nullptr && (before == nullptr || before->ring != ring->ring);
  };
  std::uint64_t builds = 0;
  if (is_new(built.v1(), served == nullptr ? nullptr : served->v1())) ++builds;
  if (is_new(built.v2(), served == nullptr ? nullptr : served->v2())) ++builds;
  ring_builds_.fetch_add(builds, std::memory_order_relaxed);
}

absl::StatusOr<std::vector<Change>> TopologyController::Accept(
    const std::string& checksum, const std::vector<std::string>& data_centers,
    const std::string& actor, const std::string& reason) {
  if (held_.empty()) return absl::FailedPreconditionError("nothing is held; nothing is to accept");
  if (const std::string held = status().checksum; checksum != held) {
    return absl::AbortedError(absl::string_view("what is held has the checksum " + held + ", not " +
                                                checksum + ": look at it, and decide again"));
  }
  // What somebody has looked at and the file does not say any more would be undone at once.
  if (const std::string now = ChecksumOfRead(ReadTopologyFile(options_.path)); now != checksum) {
    return absl::AbortedError(
        absl::string_view("what is held is not what the topology file has, " +
                          (now.empty() ? "which cannot be read" : "whose checksum is " + now) +
                          ": wait until it is read, or reload, and decide again"));
  }
  Held accepted;
  for (const std::string& name : data_centers) {
    const auto found = held_.find(name);
    if (found == held_.end()) {
      std::vector<std::string> known;
      for (const auto& [each, spec] : held_) known.push_back(each);
      return absl::NotFoundError(
          absl::string_view(UnknownNameMessage("held data center", name, known)));
    }
    accepted.insert(*found);
  }
  if (data_centers.empty()) accepted = held_;
  if (absl::Status kept = CheckHeldAnsweringRings(accepted); !kept.ok()) return kept;

  const Origin origin{actor, reason.empty() ? "accepted" : reason, checksum};
  LogInfo("topology accepted", {{"actor", actor},
                                {"checksum", checksum},
                                {"data_centers", std::to_string(accepted.size())},
                                {"reason", reason}});
  std::vector<Change> changes;
  for (const auto& [name, spec] : accepted) {
    Change change = Take(name, spec ? &*spec : nullptr, nullptr, origin);
    ReturnFreePages();
    LogTopologyChange(change, checksum, ReloadTrigger::kCall);
    if (change.outcome != Outcome::kFailed) held_.erase(name);
    changes.push_back(std::move(change));
  }
  const absl::MutexLock lock(&mutex_);
  std::erase_if(status_.held,
                [this](const Change& change) { return !held_.contains(change.data_center); });
  if (CountOf(changes, Outcome::kApplied) > 0) ++status_.generation;
  if (held_.empty() && status_.last_error.ok()) status_.last_success = options_.clock();
  return changes;
}

absl::Status TopologyController::CheckHeldAnsweringRings(const Held& held) const {
  for (const auto& [name, spec] : held) {
    if (!spec) continue;
    if (absl::Status kept = CheckServedRings(*spec); !kept.ok()) return kept;
  }
  return absl::OkStatus();
}

void TopologyController::Save(TopologyUpdate update) {
  const std::string name = update.data_center;
  // While the store does not take one, each of many would wait for it.
  const bool is_down = !pending_.empty();
  if (pending_.size() >= kMaxPending) {
    const auto before =
        std::find_if(pending_.rbegin(), pending_.rend(),
                     [&name](const TopologyUpdate& each) { return each.data_center == name; });
    if (before != pending_.rend()) pending_.erase(std::next(before).base());
  }
  pending_.push_back(std::move(update));
  if (is_down) return;
  const absl::Status saved = store_.SaveTopology(pending_.front());
  if (saved.ok()) {
    pending_.clear();
    return;
  }
  LogError("the store does not take the topology that is served; it is tried again",
           {{"data_center", name}, {"error", saved.ToString()}});
  ShowPending(saved);
}

void TopologyController::SavePending() {
  if (pending_.empty()) return;
  while (!pending_.empty()) {
    const absl::Status saved = store_.SaveTopology(pending_.front());
    if (!saved.ok()) return ShowPending(saved);
    pending_.pop_front();
  }
  LogInfo("the store has the topology that is served");
  ShowPending(absl::OkStatus());
}

void TopologyController::RetryFailed() {
  if (!failed_ || !store_.Check().ok()) return;
  const Failed failed = *failed_;
  ReloadIfHolding(failed.checksum, failed.trigger, failed.actor);
}

void TopologyController::RestoreRings() {
  const std::vector<std::shared_ptr<const DataCenter>> missing = migrations_.MissingRings();
  std::erase_if(failed_restores_, [&missing](const auto& entry) {
    return std::none_of(missing.begin(), missing.end(), [&entry](const auto& data_center) {
      return data_center->name() == entry.first;
    });
  });
  for (const std::shared_ptr<const DataCenter>& served : missing) {
    const WallTime now = options_.clock();
    const auto last = failed_restores_.find(served->name());
    if (last != failed_restores_.end() && now - last->second < kRestorePause) continue;
    if (const absl::Status restored = RestoreRing(*served); restored.ok()) {
      failed_restores_.erase(served->name());
    } else {
      FailRestore(served->name(), restored);
    }
    ReturnFreePages();
  }
}

void TopologyController::FailRestore(const std::string& name, const absl::Status& error) {
  failed_restores_[name] = options_.clock();
  migrations_.SetRestoreError(name, std::string(error.message()));
}

absl::Status TopologyController::RestoreRing(const DataCenter& served) {
  const DataCenterSpec& spec = served.spec();
  const RetiredRing retired = migrations_.RetiredRingOf(spec.name);
  absl::Status fits = options_.memory.CheckChange(spec, &served, retired);
  if (!fits.ok()) return fits;
  const auto start = std::chrono::steady_clock::now();
  absl::StatusOr<std::shared_ptr<const DataCenter>> built =
      DataCenter::Build(spec, &served, retired);
  if (!built.ok()) return built.status();
  CountBuilds(**built, &served);
  absl::Status adopted =
      migrations_.Adopt(*std::move(built), node_histories_[spec.name],
                        [](const Migration&, Share) { return absl::OkStatus(); });
  if (!adopted.ok()) return adopted;
  LogInfo("ring restored", {{"data_center", spec.name},
                            {"seconds", FormatSeconds(std::chrono::steady_clock::now() - start)}});
  return absl::OkStatus();
}

void TopologyController::ShowPending(const absl::Status& error) {
  std::string text;
  if (!error.ok()) {
    std::set<std::string_view> names;
    for (const TopologyUpdate& update : pending_) names.insert(update.data_center);
    text = "not stored: the topology of " + pending_.front().data_center;
    if (names.size() > 1) text += " and " + std::to_string(names.size() - 1) + " more";
    text += ": " + std::string(error.message());
  }
  const absl::MutexLock lock(&mutex_);
  status_.store_error = std::move(text);
}

TopologyController::Status TopologyController::status() const {
  const absl::MutexLock lock(&mutex_);
  return status_;
}

std::array<std::uint64_t, TopologyController::kResults> TopologyController::counts() const {
  const absl::MutexLock lock(&mutex_);
  return counts_;
}

}  // namespace ringshift
