#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "migration/decision.h"
#include "server/process_metrics.h"
#include "server/topology_log.h"

namespace ringshift {
namespace {

prometheus::MetricFamily MakeGauge(std::string name, std::string help) {
  return MakeFamily(prometheus::MetricType::Gauge, std::move(name), std::move(help));
}

// The ring_* families, one series a data center and ring, or pool of the topology on it.
class RingFamilies {
 public:
  void Add(const DataCenter& data_center, const DataCenter::BuiltRing& built) {
    const Ring& ring = *built.ring;
    const MetricLabels labels = {
        {"data_center", data_center.name()},
        {"ring_version", std::string(RingVersionName(ring.parameters().version))}};
    AddGauge(memory_, labels, static_cast<double>(built.memory_bytes()));
    AddGauge(points_, labels, static_cast<double>(ring.point_count()));
    AddGauge(collisions_, labels, static_cast<double>(ring.collision_count()));
    AddGauge(build_duration_, labels, built.build_time.count());
    AddGauge(share_cv_, labels, built.ownership.cv);
    AddGauge(share_max_ratio_, labels, built.ownership.max_ratio);
    for (std::size_t i = 1; i < built.pools.size(); ++i) {  // in `default`, nothing is skipped
      MetricLabels pool_labels = labels;
      pool_labels.push_back({"pool", data_center.pools()[i].name});
      AddGauge(pool_walk_, pool_labels, built.pools[i].walk.mean);
      AddGauge(pool_memory_, pool_labels, static_cast<double>(built.pools[i].own_bytes()));
    }
  }

  void MoveTo(MetricFamilies& families) {
    for (prometheus::MetricFamily* family :
         {&memory_, &points_, &collisions_, &build_duration_, &share_cv_, &share_max_ratio_,
          &pool_walk_, &pool_memory_}) {
      families.push_back(std::move(*family));
    }
  }

 private:
  prometheus::MetricFamily memory_ =
      MakeGauge("ringshift_ring_memory_bytes",
                "Memory that the ring holds, with the small rings of sparse pools.");
  prometheus::MetricFamily points_ = MakeGauge("ringshift_ring_points", "Points on the ring.");
  prometheus::MetricFamily collisions_ =
      MakeGauge("ringshift_ring_collisions", "Hash values on which several nodes have a point.");
  prometheus::MetricFamily build_duration_ =
      MakeGauge("ringshift_ring_build_duration_seconds", "Time that the build of the ring took.");
  prometheus::MetricFamily share_cv_ = MakeGauge(
      "ringshift_ring_share_cv",
      "Coefficient of variation of the nodes' exact shares of the key space over their weights.");
  prometheus::MetricFamily share_max_ratio_ =
      MakeGauge("ringshift_ring_share_max_ratio",
                "The largest share of a node over the share that its weight deserves.");
  prometheus::MetricFamily pool_walk_ =
      MakeGauge("ringshift_ring_pool_walk_points",
                "Points that a lookup in the pool looks at on the whole ring, on average.");
  prometheus::MetricFamily pool_memory_ = MakeGauge(
      "ringshift_ring_pool_memory_bytes",
      "Memory of the pool's own ring, which is in that of the ring; 0 for a pool that has none.");
};

// A checksum's lowest 48 bits: a double, and so Prometheus, has them exactly.
double Bits48(std::uint64_t checksum) {
  return static_cast<double>(checksum & ((std::uint64_t{1} << 48) - 1));
}

double Ratio(Share share) { return static_cast<double>(share.ppm()) / Share::kMaxPpm; }

// The state of migrations beside their shares, one series a data center, or ring.
class MigrationFamilies {
 public:
  void Add(const RoutingTable& table) {
    const MetricLabels labels = {{"data_center", table.data_center().name()}};
    const Migration& migration = table.migration();
    AddGauge(revision_, labels, static_cast<double>(migration.revision));
    AddGauge(frozen_, labels, migration.is_frozen ? 1 : 0);
    AddGauge(override_, labels, table.state().share_override ? 1 : 0);
    AddGauge(durable_, labels, table.state().is_durable ? 1 : 0);
    for (const auto& [ring, version] : {std::pair(RetiredRing::kV1, RingVersion::kV1),
                                        std::pair(RetiredRing::kV2, RingVersion::kV2)}) {
      MetricLabels ring_labels = labels;
      ring_labels.push_back({"ring_version", std::string(RingVersionName(version))});
      AddGauge(retired_, ring_labels, migration.retired == ring ? 1 : 0);
    }
  }

  void MoveTo(MetricFamilies& families) {
    for (prometheus::MetricFamily* family :
         {&revision_, &frozen_, &override_, &durable_, &retired_}) {
      families.push_back(std::move(*family));
    }
  }

 private:
  prometheus::MetricFamily revision_ =
      MakeGauge("ringshift_migration_revision",
                "The store's revision of the last change of the data center's migration.");
  prometheus::MetricFamily frozen_ =
      MakeGauge("ringshift_migration_frozen",
                "1 if the data center was rolled back, and its share is frozen; else 0.");
  prometheus::MetricFamily override_ = MakeGauge(
      "ringshift_migration_override",
      "1 if this router answers with a share of its own, whatever the store has; else 0.");
  prometheus::MetricFamily durable_ =
      MakeGauge("ringshift_migration_durable",
                "0 if a rollback is in force that the store has not taken; else 1.");
  prometheus::MetricFamily retired_ =
      MakeGauge("ringshift_migration_retired", "1 if the ring is retired; else 0.");
};

void CollectDataCenters(const std::vector<std::shared_ptr<const RoutingTable>>& tables,
                        MetricFamilies& families) {
  RingFamilies rings;
  MigrationFamilies migrations;
  prometheus::MetricFamily ratio = MakeGauge(
      "ringshift_migration_v2_ratio",
      "The part of the requests that ring v2 shall answer (requested, as the store has it) "
      "and answers (effective), 0 to 1.");
  prometheus::MetricFamily nodes =
      MakeGauge("ringshift_topology_nodes", "Nodes of the data center.");
  prometheus::MetricFamily checksum = MakeGauge(
      "ringshift_routing_checksum",
      "48 bits over rings, nodes, pools, salt and decision rule: routers that differ here "
      "give different answers.");
  for (const std::shared_ptr<const RoutingTable>& table : tables) {
    const DataCenter& data_center = table->data_center();
    const std::string& name = data_center.name();
    if (data_center.v1() != nullptr) rings.Add(data_center, *data_center.v1());
    if (data_center.v2() != nullptr) rings.Add(data_center, *data_center.v2());
    AddGauge(ratio, {{"data_center", name}, {"kind", "requested"}},
             Ratio(table->migration().share));
    AddGauge(ratio, {{"data_center", name}, {"kind", "effective"}}, Ratio(table->share()));
    migrations.Add(*table);
    AddGauge(nodes, {{"data_center", name}}, static_cast<double>(data_center.node_set().size()));
    AddGauge(checksum, {{"data_center", name}}, Bits48(table->checksum()));
  }
  rings.MoveTo(families);
  migrations.MoveTo(families);
  for (prometheus::MetricFamily* family : {&ratio, &nodes, &checksum}) {
    families.push_back(std::move(*family));
  }
}

void CollectRates(const RateWindow& rates,
                  const std::vector<std::shared_ptr<const RoutingTable>>& tables,
                  MetricFamilies& families) {
  prometheus::MetricFamily share = MakeGauge(
      "ringshift_migration_measured_share",
      "The part of the keys, 0 to 1, that ring v2 answered within the last 60 seconds; not there "
      "where there was none.");
  for (const std::shared_ptr<const RoutingTable>& table : tables) {
    const std::string& name = table->data_center().name();
    const std::optional<double> measured = rates.Of(name).v2_ratio;
    if (measured) AddGauge(share, {{"data_center", name}}, *measured);
  }
  families.push_back(std::move(share));
}

void CollectTopology(const TopologyController& topology,
                     const std::vector<std::shared_ptr<const RoutingTable>>& tables,
                     MetricFamilies& families) {
  const TopologyController::Status status = topology.status();
  const auto counts = topology.counts();
  prometheus::MetricFamily reloads =
      MakeFamily(prometheus::MetricType::Counter, "ringshift_topology_reloads_total",
                 "Readings of the topology file, by what came of them.");
  using Result = TopologyController::Result;
  for (const auto& [result, name] :
       {std::pair(Result::kApplied, "applied"), std::pair(Result::kUnchanged, "unchanged"),
        std::pair(Result::kHeld, "held"), std::pair(Result::kFailed, "failed")}) {
    AddCounter(reloads, {{"result", name}},
               static_cast<double>(counts[static_cast<std::size_t>(result)]));
  }
  prometheus::MetricFamily last_success =
      MakeGauge("ringshift_topology_last_reload_success_timestamp_seconds",
                "When all of the topology file was last taken up, or was served already.");
  if (status.last_success) {
    const std::chrono::duration<double> time = status.last_success->time_since_epoch();
    AddGauge(last_success, {}, time.count());
  }
  prometheus::MetricFamily is_successful =
      MakeGauge("ringshift_topology_last_reload_successful",
                "0 if the topology file was refused or could not be read when that was last tried, "
                "or a data center of it could not be built; else 1, also where it is held.");
  AddGauge(is_successful, {}, status.last_error.ok() ? 1 : 0);
  prometheus::MetricFamily generation =
      MakeGauge("ringshift_topology_generation",
                "How often a reload or an accept has changed what is served, since the start.");
  AddGauge(generation, {}, static_cast<double>(status.generation));

  prometheus::MetricFamily is_held = MakeGauge(
      "ringshift_topology_reload_held",
      "1 if the topology file changes the data center by more than the limits, so that it "
      "waits to be accepted; else 0.");
  prometheus::MetricFamily moved =
      MakeGauge("ringshift_topology_held_moved_ratio",
                "The part of the key space, 0 to 1, that a change which is held would move; "
                "0 where none is held.");
  std::map<std::string, bool> held;
  for (const auto& table : tables) held[table->data_center().name()] = false;
  for (const TopologyController::Change& change : status.held) {
    held[change.data_center] = true;
    AddGauge(moved, {{"data_center", change.data_center}}, MovedRatio(change));
  }
  for (const auto& [name, is] : held) {
    AddGauge(is_held, {{"data_center", name}}, is ? 1 : 0);
    if (!is) AddGauge(moved, {{"data_center", name}}, 0);
  }
  for (prometheus::MetricFamily* family :
       {&reloads, &last_success, &is_successful, &generation, &is_held, &moved}) {
    families.push_back(std::move(*family));
  }
  AddCounter(families.emplace_back(MakeFamily(prometheus::MetricType::Counter,
                                              "ringshift_ring_builds_total",
                                              "Rings that were built; one that is kept or taken "
                                              "over by a reload is not built.")),
             {}, static_cast<double>(topology.ring_builds()));
}

void CollectStore(const StoreHealth& store, std::size_t orphans, MetricFamilies& families) {
  AddGauge(families.emplace_back(MakeGauge(
               "ringshift_store_up", "1 if the store worked when it was last checked; else 0.")),
           {}, store.status().ok() ? 1 : 0);
  AddGauge(families.emplace_back(MakeGauge(
               "ringshift_store_stale",
               "1 if what the router knows of the store may be old, because it is lost; else 0.")),
           {}, store.stale().has_value() ? 1 : 0);
  AddCounter(families.emplace_back(MakeFamily(
                 prometheus::MetricType::Counter, "ringshift_store_revision_regressions_total",
                 "Times that the store went back to an older state, as etcd does when a backup is "
                 "restored.")),
             {}, static_cast<double>(store.regressions()));
  AddGauge(families.emplace_back(
               MakeGauge("ringshift_store_created",
                         "1 if this start of the router made the store, so that there was no state "
                         "to remember; else 0.")),
           {}, store.was_created() ? 1 : 0);
  AddGauge(families.emplace_back(MakeGauge(
               "ringshift_migration_orphans",
               "Migrations that the store keeps for data centers that are not served, but for "
               "those that --data-centers leaves out.")),
           {}, static_cast<double>(orphans));
}

}  // namespace

MetricFamilies RouterMetrics::Collect() const {
  MetricFamilies families;
  routes_.Collect(families);
  outcomes_.Collect(families);
  const std::vector<std::shared_ptr<const RoutingTable>> tables = directory_.Tables();
  CollectDataCenters(tables, families);
  CollectRates(rates_, tables, families);
  CollectTopology(topology_, tables, families);
  CollectStore(store_, migrations_.OrphanCount(), families);
  prometheus::MetricFamily watches =
      MakeGauge("ringshift_watches", "Clients that watch, by the method.");
  AddGauge(watches, {{"method", "WatchRouting"}}, static_cast<double>(routing_watches_.count()));
  AddGauge(watches, {{"method", "WatchMigrations"}},
           static_cast<double>(migration_watches_.count()));
  families.push_back(std::move(watches));
  const double startup_seconds = startup_seconds_.load(std::memory_order_relaxed);
  if (startup_seconds >= 0) {
    AddGauge(families.emplace_back(MakeGauge("ringshift_startup_duration_seconds",
                                             "Time from the start until the router was ready.")),
             {}, startup_seconds);
  }
  AddGauge(families.emplace_back(
               MakeGauge("ringshift_build_info", "Always 1; the labels say what is running.")),
           {{"version", RINGSHIFT_VERSION},
            {"compiler", __VERSION__},
            {"decision_algorithm", std::string(kDecisionAlgorithm)}},
           1);
  CollectProcessMetrics(families);
  std::erase_if(families,
                [](const prometheus::MetricFamily& family) { return family.metric.empty(); });
  return families;
}

std::string RouterMetrics::ToText() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

}  // namespace ringshift
