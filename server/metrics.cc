#include "server/metrics.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>

#include "migration/decision.h"
#include "server/process_metrics.h"

namespace ringshift {
namespace {

prometheus::MetricFamily MakeGauge(std::string name, std::string help) {
  return MakeFamily(prometheus::MetricType::Gauge, std::move(name), std::move(help));
}

// The ring_* families, one series a data center and ring.
class RingFamilies {
 public:
  void Add(const std::string& data_center, const DataCenter::BuiltRing& built) {
    const Ring& ring = *built.ring;
    const MetricLabels labels = {
        {"data_center", data_center},
        {"ring_version", std::string(RingVersionName(ring.parameters().version))}};
    AddGauge(memory_, labels, static_cast<double>(ring.memory_bytes()));
    AddGauge(points_, labels, static_cast<double>(ring.point_count()));
    AddGauge(collisions_, labels, static_cast<double>(ring.collision_count()));
    AddGauge(build_duration_, labels, built.build_time.count());
    AddGauge(share_cv_, labels, built.ownership.cv);
    AddGauge(share_max_ratio_, labels, built.ownership.max_ratio);
  }

  void MoveTo(MetricFamilies& families) {
    for (prometheus::MetricFamily* family :
         {&memory_, &points_, &collisions_, &build_duration_, &share_cv_, &share_max_ratio_}) {
      families.push_back(std::move(*family));
    }
  }

 private:
  prometheus::MetricFamily memory_ =
      MakeGauge("ringshift_ring_memory_bytes", "Memory that the ring holds.");
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
};

void CollectState(const RoutingDirectory& directory, MetricFamilies& families) {
  RingFamilies rings;
  prometheus::MetricFamily ratio = MakeGauge(
      "ringshift_migration_v2_ratio", "The part of the requests that ring v2 answers, 0 to 1.");
  prometheus::MetricFamily revision =
      MakeGauge("ringshift_migration_revision",
                "The store's revision of the data center's last change of share.");
  prometheus::MetricFamily nodes =
      MakeGauge("ringshift_topology_nodes", "Nodes of the data center.");
  for (const std::shared_ptr<const RoutingTable>& table : directory.Tables()) {
    const DataCenter& data_center = table->data_center();
    if (data_center.v1() != nullptr) rings.Add(data_center.name(), *data_center.v1());
    rings.Add(data_center.name(), data_center.v2());
    const MetricLabels labels = {{"data_center", data_center.name()}};
    AddGauge(ratio, labels, static_cast<double>(table->share().ppm()) / Share::kMaxPpm);
    AddGauge(revision, labels, static_cast<double>(table->migration().revision));
    AddGauge(nodes, labels, static_cast<double>(data_center.node_set().size()));
  }
  rings.MoveTo(families);
  families.push_back(std::move(ratio));
  families.push_back(std::move(revision));
  families.push_back(std::move(nodes));
}

}  // namespace

MetricFamilies RouterMetrics::Collect() const {
  MetricFamilies families;
  routes_.Collect(families);
  CollectState(directory_, families);
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
