// Takes up topologies: at the start, when the file changes, when somebody asks.
//
// A file is taken up whole or refused whole; then each data center changes on its own, one after
// the other, so that at most one has old and new rings in memory at a time, and only if they fit
// (MemoryBudget). A data center that would change more than the limits is held: it serves as it did
// until Accept. What is served is saved in the store, so that a restart goes by the same rules, and
// serves what was served before where the file is bad, held or too large.
//
// It also builds the rings that migrations call back (MigrationController::MissingRings), and knows
// how the nodes of each data center were.
//
// Thread safety: Start, the reloads, Accept, SavePending, RetryFailed and RestoreRings are
// thread-compatible (one thread, which they keep busy for as long as rings take to build); path,
// status and counts may be called from any thread and wait for nothing.
#ifndef RINGSHIFT_SERVER_TOPOLOGY_CONTROLLER_H_
#define RINGSHIFT_SERVER_TOPOLOGY_CONTROLLER_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "migration/share.h"
#include "migration/store.h"
#include "routing/data_center.h"
#include "routing/routing_directory.h"
#include "routing/topology.h"
#include "routing/topology_change.h"
#include "server/memory_budget.h"
#include "server/migration_controller.h"
#include "server/node_history.h"
#include "server/route_metrics.h"

namespace ringshift {

enum class ReloadTrigger { kStart, kSignal, kCall, kFile };

class TopologyController {
 public:
  struct Options {
    std::string path;
    std::vector<std::string> data_centers;  // those to serve; empty means all
    ReloadLimits limits;
    WallClock clock = SystemWallTime;
    // Between two reads of the file, which must agree: ReadSettledTopologyFile's.
    std::function<void()> pause_between_reads = nullptr;
    MemoryBudget memory = MemoryBudget();
  };

  // What a reload did, or will do once it is accepted, with a data center.
  struct Change {
    enum class Outcome { kUnchanged, kApplied, kHeld, kFailed };
    std::string data_center;
    Outcome outcome = Outcome::kUnchanged;
    std::string reason;                             // of kHeld and kFailed
    absl::StatusCode code = absl::StatusCode::kOk;  // of kFailed
    // None for one that is new, gone or unchanged, or whose rings were not built.
    std::optional<DataCenterChange> difference;
    NodeChanges nodes;  // without `difference` only what those of the file and those served tell
    Share share;        // at which it was judged
  };

  struct Status {
    std::string checksum;  // TopologyChecksum of the file's bytes; "" if unreadable
    std::optional<WallTime> last_attempt;
    ReloadTrigger last_trigger = ReloadTrigger::kStart;
    absl::Status last_error;               // of the last attempt
    std::optional<WallTime> last_success;  // of an attempt after which the file is what is served
    std::int64_t generation = 0;           // reloads and accepts that changed what is served
    std::vector<Change> held;              // of that checksum, by data center
    std::string store_error;               // "" where the store has all that is served
  };

  // What came of reloads. The values index counts().
  enum class Result : std::size_t { kApplied, kUnchanged, kHeld, kFailed };
  static constexpr std::size_t kResults = 4;

  // All outlive this object.
  TopologyController(Options options, MigrationStore& store, MigrationController& migrations,
                     RoutingDirectory& directory, RouteMetrics& route_metrics);

  // Whether a router whose store is new could start. Errors: the file is bad, or lacks a data
  // center, or its rings do not fit.
  static absl::Status CheckFirstFile(const Options& options);

  // Serves what the store has from before, and then reloads the file. Fails, and nothing is served,
  // if the store has nothing and the file is bad; or if rings cannot be built. But one that did not
  // answer before, and is wanted since, is left to RestoreRings if it does not fit.
  absl::Status Start();

  // Reads the file and takes it up. An error: what is served is as before, and nothing is held any
  // more, since the file does not say so. Every data center's change, by name, otherwise.
  absl::StatusOr<std::vector<Change>> Reload(ReloadTrigger trigger, const std::string& actor);
  // The same, what becomes of it being in the status and in the log, if the file holds what has
  // this checksum; "": if it cannot be read. Otherwise nothing happens.
  void ReloadIfHolding(const std::string& checksum, ReloadTrigger trigger,
                       const std::string& actor);

  // Takes up the data centers (empty: all) that the topology of this checksum holds.
  //
  // ABORTED              what is held, or what the file has by now, has another checksum; the
  //                      message has it.
  // NOT_FOUND            a data center is not held.
  // FAILED_PRECONDITION  nothing is held; or CheckAnsweringRings at the share of this moment.
  absl::StatusOr<std::vector<Change>> Accept(const std::string& checksum,
                                             const std::vector<std::string>& data_centers,
                                             const std::string& actor, const std::string& reason);

  // How many changes wait for a store that takes none. Above it, of each data center only the
  // newest does.
  static constexpr std::size_t kMaxPending = 100;
  // Saves what the store did not take before, if there is such, in order.
  void SavePending();
  // Reloads the file once the store works, if a data center of the last reload was not taken up
  // because it did not.
  void RetryFailed();

  // Builds the rings that are wanted and not there, as far as they fit. Where that fails, the
  // migration says why, and it is not tried again within kRestorePause.
  static constexpr std::chrono::seconds kRestorePause{10};
  void RestoreRings();

  const std::string& path() const { return options_.path; }
  Status status() const;
  std::array<std::uint64_t, kResults> counts() const;
  // Rings that were built for what is or was served; one that an equal one stands in for is none.
  std::uint64_t ring_builds() const { return ring_builds_.load(std::memory_order_relaxed); }

 private:
  // Who wants a change, for the store's history.
  struct Origin {
    std::string actor;
    std::string reason;
    std::string checksum;  // of the file that says so
  };
  using Held = std::map<std::string, std::optional<DataCenterSpec>>;  // none: not listed any more
  // A reload that the store has kept from taking up all of the file.
  struct Failed {
    std::string checksum;
    ReloadTrigger trigger;
    std::string actor;
  };

  // Serves what the store has; returns how many data centers that are.
  absl::StatusOr<std::size_t> ServeStored();
  // As it was served before this start, without a ring.
  absl::StatusOr<std::shared_ptr<const DataCenter>> BuildStored(const DataCenterSpec& spec,
                                                                RetiredRing without) const;
  absl::StatusOr<std::vector<Change>> TakeUp(const absl::StatusOr<std::string>& bytes,
                                             ReloadTrigger trigger, const std::string& actor);
  // Leaves in `file` what is served here. Where nothing is served yet (`is_first`), nothing is
  // served, and so nothing stored, unless all of it can be: NOT_FOUND if a data center is missing,
  // MemoryBudget::CheckFirstStart's errors if they do not fit.
  static absl::Status Select(const Options& options, bool is_first, Topology& file);
  // The topology of `bytes`, without what is not served here, if it may be taken up.
  absl::StatusOr<Topology> Parse(std::string_view bytes) const;
  absl::Status Refuse(absl::Status error, const std::string& checksum, ReloadTrigger trigger,
                      const std::string& actor);

  // Changes one data center to `spec`, or to nothing, within the limits, or without `limits`.
  Change Take(const std::string& name, const DataCenterSpec* spec, const ReloadLimits* limits,
              const Origin& origin);
  void TakeAway(const DataCenter& served, const ReloadLimits* limits, const Origin& origin,
                Change& change);
  void Build(const DataCenterSpec& spec, const DataCenter* served, const ReloadLimits* limits,
             const Origin& origin, Change& change);
  // CheckAnsweringRings, for the share that is wanted and for the one that answers.
  absl::Status CheckServedRings(const DataCenterSpec& spec) const;
  absl::Status CheckHeldAnsweringRings(const Held& held) const;
  absl::Status RestoreRing(const DataCenter& served);
  void FailRestore(const std::string& name, const absl::Status& error);
  void CountBuilds(const DataCenter& built, const DataCenter* served);

  void Save(TopologyUpdate update);
  void ShowPending(const absl::Status& error);

  const Options options_;
  MigrationStore& store_;
  MigrationController& migrations_;
  RoutingDirectory& directory_;
  RouteMetrics& route_metrics_;

  // Of the one thread.
  Held held_;
  std::deque<TopologyUpdate> pending_;  // what the store did not take, the oldest first
  std::optional<Failed> failed_;        // the last reload, if it is one
  // By data center that is served.
  std::map<std::string, NodeHistory> node_histories_;
  std::map<std::string, WallTime> failed_restores_;  // the last attempts

  std::atomic<std::uint64_t> ring_builds_{0};
  mutable absl::Mutex mutex_;
  Status status_ ABSL_GUARDED_BY(mutex_);
  std::array<std::uint64_t, kResults> counts_ ABSL_GUARDED_BY(mutex_){};
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_TOPOLOGY_CONTROLLER_H_
