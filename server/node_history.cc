#include "server/node_history.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/string_view.h"
#include "routing/topology_loader.h"
#include "routing/topology_writer.h"

namespace ringshift {
namespace {

// What makes a node the same.
std::string NodeKey(const RingIdentity& identity, const std::string& address) {
  return absl::CEscape(identity.bytes()) + " " + address;
}

using NodesByKey = std::map<std::string, NodeIndex>;

NodesByKey ByKey(const DataCenter& data_center) {
  NodesByKey by_key;
  for (NodeIndex node = 0; node < data_center.node_set().size(); ++node) {
    by_key[NodeKey(data_center.node_set()[node].identity, data_center.node(node).address)] = node;
  }
  return by_key;
}

std::map<std::string_view, const NodeSpec*> SpecsByName(const DataCenterSpec& spec) {
  std::map<std::string_view, const NodeSpec*> by_name;
  for (const NodeSpec& node : spec.nodes) by_name[node.name] = &node;
  return by_name;
}

bool HasSamePoints(const DataCenterSpec& a, const DataCenterSpec& b) {
  return a.v1.has_value() == b.v1.has_value() &&
         (!a.v1 || a.v1->points_per_weight == b.v1->points_per_weight) &&
         a.v2.points_per_weight == b.v2.points_per_weight;
}

// In the pool `name` as `pools` define it.
std::uint32_t WeightIn(const std::vector<PoolSpec>& pools, const std::string& name,
                       const NodeSpec& node) {
  if (name == kDefaultPool) return node.weight;
  const auto pool = std::find_if(pools.begin(), pools.end(),
                                 [&](const PoolSpec& each) { return each.name == name; });
  if (pool == pools.end()) return 0;
  const auto has = [&](const std::string& feature) {
    return std::find(node.features.begin(), node.features.end(), feature) != node.features.end();
  };
  const std::vector<std::string>& required = pool->required_features;
  return std::all_of(required.begin(), required.end(), has) ? node.weight : 0;
}

// What was until `end` or longer, of what is by time; null if that is what is now.
template <typename Past>
const Past* PastAt(const std::vector<Past>& pasts, WallTime end) {
  const auto found = std::find_if(pasts.begin(), pasts.end(),
                                  [end](const Past& past) { return past.until >= end; });
  return found == pasts.end() ? nullptr : &*found;
}

// A data center that has nothing but what a record is about.
DataCenterSpec RecordSpec() {
  DataCenterSpec spec;
  spec.name = "past";
  return spec;
}

absl::StatusOr<DataCenterSpec> ParseRecord(const NodeChange& change) {
  const std::string place = "the store's record of node \"" + change.node + "\"";
  absl::StatusOr<LoadedTopology> loaded = ParseTopology(change.before, place);
  if (!loaded.ok()) return absl::DataLossError(loaded.status().message());
  std::vector<DataCenterSpec>& specs = loaded->topology.data_centers;
  if (specs.size() != 1 || specs[0].nodes.size() != 1) {
    return absl::DataLossError(absl::string_view(place + " is not of one node"));
  }
  return std::move(specs[0]);
}

}  // namespace

absl::StatusOr<NodeHistory> NodeHistory::Parse(const std::vector<NodeChange>& stored) {
  NodeHistory history;
  for (const NodeChange& change : stored) {
    if (change.before.empty()) {
      if (change.node.empty()) {
        history.known_since_ = std::max(history.known_since_, change.time);
      } else {
        history.states_[change.node].push_back({change.time, std::nullopt});
      }
      continue;
    }
    absl::StatusOr<DataCenterSpec> spec = ParseRecord(change);
    if (!spec.ok()) return spec.status();
    if (change.node.empty()) {
      history.pools_.push_back({change.time, std::move(spec->pools)});
      continue;
    }
    const absl::StatusOr<std::shared_ptr<const NodeSet>> nodes = MakeNodeSet(*spec);
    if (!nodes.ok()) return absl::DataLossError(nodes.status().message());
    const RingIdentity& identity = (**nodes)[0].identity;
    if (NodeKey(identity, spec->nodes[0].address) != change.node) {
      return absl::DataLossError(absl::string_view("the store's record of node \"" + change.node +
                                                   "\" is of another one"));
    }
    history.states_[change.node].push_back(
        {change.time, Node{spec->nodes[0], spec->identity_style, identity}});
  }
  return history;
}

std::vector<NodeChange> NodeHistory::ToStored() const {
  std::vector<NodeChange> stored;
  if (known_since_ != WallTime::min()) stored.push_back({"", known_since_, ""});
  for (const PastPools& past : pools_) {
    DataCenterSpec spec = RecordSpec();
    spec.pools = past.pools;
    // A data center has nodes.
    NodeSpec& node = spec.nodes.emplace_back();
    node.name = "none";
    node.address = "0.0.0.0:1";
    stored.push_back({"", past.until, WriteTopology({{std::move(spec)}})});
  }
  for (const auto& [key, states] : states_) {
    for (const PastState& state : states) {
      NodeChange& change = stored.emplace_back(NodeChange{key, state.until, ""});
      if (!state.node) continue;
      DataCenterSpec spec = RecordSpec();
      spec.identity_style = state.node->identity_style;
      spec.nodes = {state.node->spec};
      change.before = WriteTopology({{std::move(spec)}});
    }
  }
  return stored;
}

void NodeHistory::Forget(WallTime now) {
  states_.clear();
  pools_.clear();
  known_since_ = std::max(now, known_since_);
}

void NodeHistory::Change(const DataCenter& before, const DataCenter& after, WallTime now,
                         WallTime oldest) {
  if (known_since_ <= oldest) known_since_ = WallTime::min();
  now = std::max(now, LastChange(known_since_) + std::chrono::microseconds(1));
  if (!HasSamePoints(before.spec(), after.spec())) return Forget(now);
  const auto is_over = [oldest](const auto& past) { return past.until <= oldest; };
  std::erase_if(pools_, is_over);
  for (auto& [key, states] : states_) std::erase_if(states, is_over);
  std::erase_if(states_, [](const auto& each) { return each.second.empty(); });

  if (before.spec().pools != after.spec().pools) pools_.push_back({now, before.spec().pools});
  const NodesByKey old_nodes = ByKey(before);
  const NodesByKey new_nodes = ByKey(after);
  for (const auto& [key, node] : new_nodes) {
    if (!old_nodes.contains(key)) states_[key].push_back({now, std::nullopt});
  }
  const auto old_specs = SpecsByName(before.spec());
  const auto new_specs = SpecsByName(after.spec());
  for (const auto& [key, node] : old_nodes) {
    const NodeSpec& spec = *old_specs.at(before.node(node).name);
    if (const auto same = new_nodes.find(key); same != new_nodes.end()) {
      const NodeSpec& new_spec = *new_specs.at(after.node(same->second).name);
      if (new_spec.weight == spec.weight && new_spec.features == spec.features) continue;
    }
    states_[key].push_back(
        {now, Node{spec, before.spec().identity_style, before.node_set()[node].identity}});
  }
  Bound(after, now, oldest);
}

void NodeHistory::Bound(const DataCenter& data_center, WallTime now, WallTime oldest) {
  std::size_t count = pools_.size();
  for (const auto& [key, states] : states_) count += states.size();
  if (count > kMaxChanges ||
      PastNodes::CountPoints(data_center, PastNodesAt(data_center, KnownSince(oldest))) >
          PastNodes::MaxPoints(data_center)) {
    Forget(now);
  }
}

WallTime NodeHistory::KnownSince(WallTime begin) const { return std::max(begin, known_since_); }

std::vector<PastNode> NodeHistory::PastNodesAt(const DataCenter& now, WallTime begin) const {
  std::vector<PastNode> past_nodes;
  // The parts of the window between which something changed, by their ends; the last one has none.
  std::set<WallTime> ends;
  std::vector<std::string> keys;
  for (const PastPools& past : pools_) {
    if (past.until > begin) ends.insert(past.until);
  }
  const NodesByKey indexes = ByKey(now);
  if (!ends.empty()) {
    for (const auto& [key, node] : indexes) keys.push_back(key);
  }
  for (const auto& [key, states] : states_) {
    if (states.back().until <= begin) continue;
    if (ends.empty() || !indexes.contains(key)) keys.push_back(key);
  }
  if (keys.empty()) return past_nodes;
  const auto specs = SpecsByName(now.spec());
  const std::vector<PastState> none;
  for (const std::string& key : keys) {
    const auto found = states_.find(key);
    const std::vector<PastState>& states = found == states_.end() ? none : found->second;
    const auto index = indexes.find(key);
    std::set<WallTime> node_ends = ends;
    for (const PastState& state : states) {
      if (state.until > begin) node_ends.insert(state.until);
    }
    node_ends.insert(WallTime::max());
    std::optional<RingIdentity> identity;
    if (index != indexes.end()) identity = now.node_set()[index->second].identity;
    std::vector<PastWeights> pools;
    for (const WallTime end : node_ends) {
      const PastState* const state = PastAt(states, end);
      const NodeSpec* spec = nullptr;
      if (state != nullptr && state->node) {
        spec = &state->node->spec;
        identity = state->node->identity;
      } else if (state == nullptr && index != indexes.end()) {
        spec = specs.at(now.node(index->second).name);
      }
      const PastPools* const past_pools = PastAt(pools_, end);
      const std::vector<PoolSpec>& pool_specs =
          past_pools == nullptr ? now.spec().pools : past_pools->pools;
      const bool is_first = pools.empty();
      for (std::size_t pool = 0; pool < now.pools().size(); ++pool) {
        const std::uint32_t weight =
            spec == nullptr ? 0 : WeightIn(pool_specs, now.pools()[pool].name, *spec);
        if (is_first) pools.push_back({weight, weight, weight});
        pools[pool].least = std::min(pools[pool].least, weight);
        pools[pool].most = std::max(pools[pool].most, weight);
      }
    }
    if (!identity) continue;
    std::optional<NodeIndex> node;
    if (index != indexes.end()) node = index->second;
    past_nodes.push_back({*std::move(identity), node, std::move(pools)});
  }
  return past_nodes;
}

NodeHistory::Nodes NodeHistory::At(const DataCenter& now, WallTime begin) const {
  NodeMask settled = NodeMask::All(now.node_set().size());
  std::vector<PastNode> past_nodes = PastNodesAt(now, begin);
  std::erase_if(past_nodes, [&](const PastNode& node) {
    if (std::all_of(node.pools.begin(), node.pools.end(),
                    [](const PastWeights& weights) { return weights.least == weights.most; })) {
      return true;
    }
    const bool is_young = node.node && node.pools.front().least == 0;
    if (is_young) settled.Erase(*node.node);
    // Of what only came, the mask says all.
    return is_young && PastNodes::CountPoints(now, {node}) == 0;
  });
  Nodes nodes;
  if (settled.count() < settled.size()) {
    nodes.settled = std::make_shared<const NodeMask>(std::move(settled));
  }
  if (!past_nodes.empty()) nodes.past = PastNodes::Create(now, std::move(past_nodes));
  return nodes;
}

WallTime NodeHistory::FirstChange(WallTime begin) const {
  WallTime first = WallTime::max();
  const auto look = [&](WallTime until) {
    if (until > begin) first = std::min(first, until);
  };
  for (const PastPools& past : pools_) look(past.until);
  for (const auto& [key, states] : states_) {
    for (const PastState& state : states) look(state.until);
  }
  return first;
}

WallTime NodeHistory::LastChange(WallTime begin) const {
  WallTime last = begin;
  if (!pools_.empty()) last = std::max(last, pools_.back().until);
  for (const auto& [key, states] : states_) last = std::max(last, states.back().until);
  return last;
}

}  // namespace ringshift
