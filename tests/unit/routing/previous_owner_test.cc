// The previous owner against a log of who answered which key when.
#include "routing/previous_owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "migration/answer_history.h"
#include "routing/holders.h"
#include "routing/route.h"
#include "routing/route_batch.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Key;
using ::ringshift::testing::MakeMigration;
using ::ringshift::testing::MakeNode;
using ::ringshift::testing::MakeSpec;
using ::testing::Contains;
using ::testing::HasSubstr;

Share Ppm(std::int64_t ppm) { return Share::FromPpm(ppm).value(); }

WallTime At(int time) { return WallTime(std::chrono::hours(time)); }

// What a rule has to go by. `nodes` is the answer's.
struct Question {
  const RoutingTable& table;
  std::size_t pool;
  const RouteAnswer& answer;
};
using Rule = std::optional<NodeIndex> (*)(const Question& question);

std::optional<NodeIndex> OwnerOn(const Question& q, RingVersion version, const NodeMask& nodes) {
  const DataCenter::BuiltRing* const ring = q.table.data_center().ring(version);
  if (ring == nullptr || nodes.count() == 0) return std::nullopt;
  const NodeIndex owner = ring->RingOf(q.pool).OwnerAt(q.answer.position, nodes);
  if (owner == q.answer.nodes().front()) return std::nullopt;
  return owner;
}

const NodeMask& PoolOf(const Question& q) { return q.table.data_center().pools()[q.pool].nodes; }

bool OtherAnswered(const Question& q) {
  const Warmth& warmth = q.table.state().warmth;
  return q.answer.ring_version == RingVersion::kV1
             ? AnswersV2(q.answer.bucket, warmth.v2_warm_below)
             : !AnswersV2(q.answer.bucket, warmth.v1_warm_from);
}

RingVersion Other(const Question& q) {
  return q.answer.ring_version == RingVersion::kV1 ? RingVersion::kV2 : RingVersion::kV1;
}

std::optional<NodeIndex> TheRule(const Question& q) { return q.answer.previous_owner; }

// Of v2 it knows the highest share alone, and of v1 it thinks that it answered before.
std::optional<NodeIndex> HighWaterMark(const Question& q) {
  if (q.answer.ring_version == RingVersion::kV1 && !OtherAnswered(q)) return std::nullopt;
  return OwnerOn(q, Other(q), PoolOf(q));
}

// As if the ring that answers now had answered when the window began.
std::optional<NodeIndex> WithoutFirstShare(const Question& q) {
  if (OtherAnswered(q)) {
    const DataCenter::BuiltRing* const ring = q.table.data_center().ring(Other(q));
    if (ring != nullptr) {
      const NodeIndex owner = ring->RingOf(q.pool).OwnerAt(q.answer.position, PoolOf(q));
      if (q.table.settled(q.pool).Contains(owner)) return OwnerOn(q, Other(q), PoolOf(q));
    }
  }
  return OwnerOn(q, q.answer.ring_version, q.table.settled(q.pool));
}

// As if no node were young.
std::optional<NodeIndex> WithoutMasking(const Question& q) {
  return OtherAnswered(q) ? OwnerOn(q, Other(q), PoolOf(q)) : std::nullopt;
}

// Masked, and never asked whether it was there: as if the masked owner of the other ring were warm.
std::optional<NodeIndex> MaskedOtherRing(const Question& q) {
  return OwnerOn(q, OtherAnswered(q) ? Other(q) : q.answer.ring_version, q.table.settled(q.pool));
}

struct Counts {
  std::size_t named = 0;
  std::size_t cold = 0;     // of them
  std::size_t missing = 0;  // the owner is cold, a node that is there is warm, and none is named
};

// What happened while nodes only joined within the window, and otherwise.
struct Figures {
  std::size_t answers = 0;
  std::size_t cold_owners = 0;  // for which a node of the pool is warm
  Counts stable;
  Counts changed;
};

// A data center that lives through random changes, an hour after the other. They come at even
// times, and keys are asked for between them, at odd ones.
class Simulation {
 public:
  struct Events {
    bool removals = false;
    bool reweights = false;
    bool pool_changes = false;
    bool retirement = false;
    std::size_t share_changes = 5;  // of 40 events
    int window = 40;
  };

  Simulation(std::uint32_t seed, Events events) : random_(seed), events_(events) {
    for (std::size_t number = 1; number <= 8; ++number) {
      nodes_[number] = {.weight = 2, .is_in_pool = number % 3 != 0};
    }
    for (std::size_t i = 0; i < kKeys; ++i) keys_.push_back(Key(Random(1'000'000'000)));
    views_.assign(keys_.begin(), keys_.end());
  }

  void Run(int steps, const std::vector<Rule>& rules, std::vector<Figures>& figures) {
    figures.resize(rules.size());
    // A window without changes comes first.
    for (int step = -events_.window / 2; step < steps; ++step) {
      time_ = 2 * step;
      if (step > 0) Change();
      if (::testing::Test::HasFatalFailure()) return;
      time_ = 2 * step + 1;
      ASSERT_OK_AND_ASSIGN(const auto table, MakeTable());
      for (const std::string_view pool : {"default", "some"}) {
        if (table->data_center().pools()[pool == "some"].nodes.count() == 0) continue;
        Ask(*table, pool, rules, figures);
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
  }

 private:
  struct Node {
    std::uint32_t weight = 0;  // 0: it is not there
    bool is_in_pool = false;
  };
  static constexpr int kForever = -1'000'000;
  static constexpr std::size_t kKeys = 120;
  static constexpr std::size_t kNodes = 24;

  std::size_t Random(std::size_t below) { return random_() % below; }

  // 0 -> 10 -> 5 -> 20 -> 0, all, and shares that a key's bucket is the first or last one of.
  Share RandomShare() {
    constexpr std::int64_t kShares[] = {0,       0,       50'000,    100'000,
                                        200'000, 500'000, 1'000'000, 1'000'000};
    const std::size_t choice = Random(12);
    if (choice < std::size(kShares)) return Ppm(kShares[choice]);
    return Ppm(Decision("salt").Bucket(keys_[Random(kKeys)]) + choice % 2);
  }

  void Change() {
    if (restored_at_ && time_ >= *restored_at_) {
      restored_at_.reset();
      missing_ = RetiredRing::kNone;
      SetEffective(wanted_);
      return;  // a share is in force for some time, so that keys are asked for
    }
    const std::size_t event = Random(40);
    if (event < events_.share_changes) {
      wanted_ = RandomShare();
      if (missing_ == RetiredRing::kNone) SetEffective(wanted_);
      if (missing_ != RetiredRing::kNone && !restored_at_) Restore();
    } else if (event < events_.share_changes + 2 && nodes_.size() < 20) {
      std::size_t number = 1 + Random(kNodes);
      while (nodes_.contains(number)) number = 1 + number % kNodes;
      Become(number,
             {.weight = 1 + static_cast<std::uint32_t>(Random(3)), .is_in_pool = number % 3 != 0});
    } else if (event < events_.share_changes + 4 && events_.removals && nodes_.size() > 4) {
      const std::size_t gone = RandomNode();
      for (auto& [key, log] : log_) log.erase(gone);
      Become(gone, {});
      last_change_ = time_;
    } else if (event >= 36 && events_.reweights) {
      const std::size_t number = RandomNode();
      Become(number, {.weight = 1 + static_cast<std::uint32_t>(Random(4)),
                      .is_in_pool = nodes_[number].is_in_pool});
      last_change_ = time_;
    } else if (event >= 33 && event < 36 && events_.pool_changes) {
      const std::size_t number = RandomNode();
      Become(number, {.weight = nodes_[number].weight, .is_in_pool = !nodes_[number].is_in_pool});
      last_change_ = time_;
    } else if (event < events_.share_changes + 7 && events_.retirement &&
               missing_ == RetiredRing::kNone) {
      if (effective_ == Share::All()) missing_ = RetiredRing::kV1;
      if (effective_ == Share::None()) missing_ = RetiredRing::kV2;
      wanted_ = effective_;
    } else if (event == events_.share_changes + 7 && missing_ != RetiredRing::kNone &&
               !restored_at_) {
      Restore();
    }
  }

  std::size_t RandomNode() {
    return std::next(nodes_.begin(), static_cast<long>(Random(nodes_.size())))->first;
  }

  void Become(std::size_t number, Node node) {
    past_[number].push_back({time_, nodes_.contains(number) ? nodes_[number] : Node{}});
    nodes_[number] = node;
    if (node.weight == 0) nodes_.erase(number);
  }

  void Restore() { restored_at_ = time_ + 2 * static_cast<int>(Random(4)); }

  void SetEffective(Share share) {
    if (share == effective_) return;
    history_.Change(effective_, share, At(time_), At(WindowBegin()));
    effective_ = share;
  }

  absl::StatusOr<std::shared_ptr<const RoutingTable>> MakeTable() {
    DataCenterSpec spec = MakeSpec(0);
    spec.v1->points_per_weight = 12;
    spec.v2.points_per_weight = 8;
    for (const auto& [number, state] : nodes_) {
      NodeSpec& node = spec.nodes.emplace_back(MakeNode(number, state.weight));
      if (state.is_in_pool) node.features = {"f"};
    }
    spec.pools = {{"some", {"f"}}};
    auto built = DataCenter::Build(spec, data_center_.get(), missing_);
    if (!built.ok()) return built.status();
    data_center_ = *built;

    RouterState state;
    state.warmth = history_.At(effective_, At(Begin()));
    SetPastNodes(state);
    int first_change = time_, last_change = Begin();
    for (const auto& [number, states] : past_) {
      for (const auto& [until, node] : states) {
        if (until > Begin()) first_change = std::min(first_change, until);
        last_change = std::max(last_change, until);
      }
    }
    if (last_change > Begin()) {
      state.warmth.first_share = history_.At(effective_, At(first_change)).first_share;
    }
    state.warmth_since_nodes = history_.At(effective_, At(last_change));
    Migration migration = MakeMigration("ams", wanted_.ppm());
    migration.retired = restored_at_ ? RetiredRing::kNone : missing_;
    return RoutingTable::Create(data_center_, std::move(migration), std::move(state));
  }

  void SetPastNodes(RouterState& state) const {
    NodeMask settled = NodeMask::All(data_center_->node_set().size());
    std::vector<PastNode> past_nodes;
    for (const auto& [number, states] : past_) {
      std::vector<Node> within;
      for (const auto& [until, node] : states) {
        if (until > Begin()) within.push_back(node);
      }
      if (within.empty()) continue;
      const std::string address = MakeNode(number, 1).address;
      PastNode past{RingIdentity::Parse(address, IdentityStyle::kCanonical).value(), {}, {}};
      past.node = data_center_->node_set().Find(MakeNode(number, 1).name);
      within.push_back(past.node ? nodes_.at(number) : Node{});
      for (const bool is_some : {false, true}) {
        const auto weight = [is_some](const Node& node) {
          return is_some && !node.is_in_pool ? 0 : node.weight;
        };
        PastWeights weights = {weight(within[0]), weight(within[0]), weight(within[0])};
        for (const Node& node : within) {
          weights.least = std::min(weights.least, weight(node));
          weights.most = std::max(weights.most, weight(node));
        }
        past.pools.push_back(weights);
      }
      const bool is_young = past.node && past.pools[0].least == 0;
      if (is_young) settled.Erase(*past.node);
      // Of a node that only came, the mask says all.
      if (!is_young || PastNodes::CountPoints(*data_center_, {past}) > 0) {
        past_nodes.push_back(past);
      }
    }
    state.settled = std::make_shared<const NodeMask>(std::move(settled));
    if (!past_nodes.empty()) {
      state.past_nodes = PastNodes::Create(*data_center_, std::move(past_nodes));
    }
  }

  void Ask(const RoutingTable& table, std::string_view pool, const std::vector<Rule>& rules,
           std::vector<Figures>& figures) {
    ASSERT_EQ(table.share(), effective_);
    std::vector<BatchAnswer> batch(kKeys);
    ASSERT_OK_AND_ASSIGN(const BatchRouter router, BatchRouter::Create(table, pool));
    router.Route(views_, batch);
    for (std::size_t i = 0; i < kKeys; ++i) {
      ASSERT_OK_AND_ASSIGN(const RouteAnswer answer, Route(table, {keys_[i], pool}));
      ASSERT_EQ(batch[i].owner, answer.nodes().front());
      ASSERT_EQ(batch[i].previous_owner, answer.previous_owner.value_or(BatchAnswer::kNoNode));
      auto& log = log_[{i, pool == "some"}];
      CheckWhatAlwaysHolds(table, pool, keys_[i], answer);
      if (i % 16 == 0) CheckHolders(table, pool, keys_[i], answer, log);
      if (::testing::Test::HasFatalFailure()) return;
      for (std::size_t rule = 0; rule < rules.size(); ++rule) {
        Count(table, answer, rules[rule], log, figures[rule]);
      }
      log[NumberOf(answer.nodes().front())] = time_;
    }
  }

  using Log = std::map<std::size_t, int>;  // by number of the node, when it answered last

  void CheckWhatAlwaysHolds(const RoutingTable& table, std::string_view pool, std::string_view key,
                            const RouteAnswer& answer) {
    ASSERT_OK_AND_ASSIGN(const RouteAnswer replicas, Route(table, {key, pool, 3}));
    for (const RouteAnswer& each : {answer, replicas}) {
      if (!each.previous_owner) continue;
      ASSERT_TRUE(table.has_previous_owners());
      ASSERT_TRUE(table.data_center().pools()[each.pool].nodes.Contains(*each.previous_owner));
      ASSERT_THAT(each.nodes(), ::testing::Not(Contains(*each.previous_owner)));
    }
    if (replicas.previous_owner) {
      ASSERT_EQ(replicas.previous_owner, answer.previous_owner);
    }
  }

  // Every node that answered within the window and is there is a holder, as long as its ring is.
  void CheckHolders(const RoutingTable& table, std::string_view pool, std::string_view key,
                    const RouteAnswer& answer, const Log& log) {
    ASSERT_OK_AND_ASSIGN(const std::vector<Holder> holders,
                         FindHolders(table, {.key = key, .pool = pool, .next_nodes = 1}));
    std::set<std::size_t> numbers;
    for (const Holder& holder : holders) ASSERT_TRUE(numbers.insert(NumberOf(holder.node)).second);
    ASSERT_EQ(holders.front().node, answer.nodes().front());
    if (answer.previous_owner) {
      ASSERT_EQ(holders[1].node, *answer.previous_owner);
      ASSERT_EQ(holders[1].reason, HolderReason::kPreviousOwner);
    }
    if (IsMissingARing(answer.bucket)) return;
    for (const auto& [number, time] : log) {
      if (time >= Begin()) {
        ASSERT_THAT(numbers, Contains(number));
      }
    }
  }

  void Count(const RoutingTable& table, const RouteAnswer& answer, Rule rule, const Log& log,
             Figures& figures) {
    const auto is_warm = [&](std::size_t number) {
      const auto found = log.find(number);
      return found != log.end() && found->second >= WindowBegin();
    };
    const std::optional<NodeIndex> named = rule({table, answer.pool, answer});
    const bool has_warm = std::any_of(log.begin(), log.end(), [&](const auto& each) {
      return each.second >= Begin() && (answer.pool == 0 || nodes_.at(each.first).is_in_pool);
    });
    const bool is_cold_owner = !is_warm(NumberOf(answer.nodes().front())) && has_warm;
    Counts& counts = last_change_ < Begin() ? figures.stable : figures.changed;
    ++figures.answers;
    figures.cold_owners += is_cold_owner;
    counts.named += named.has_value();
    counts.cold += named && !is_warm(NumberOf(*named));
    counts.missing += is_cold_owner && !named && !IsMissingARing(answer.bucket);
  }

  // Whether a ring that answered the bucket within the window is not there.
  bool IsMissingARing(std::uint32_t bucket) const {
    const Warmth warmth = history_.At(effective_, At(Begin()));
    return (missing_ == RetiredRing::kV1 && !AnswersV2(bucket, warmth.v1_warm_from)) ||
           (missing_ == RetiredRing::kV2 && AnswersV2(bucket, warmth.v2_warm_below));
  }

  int WindowBegin() const { return time_ - events_.window; }
  // Since when the history knows what answered.
  int Begin() const {
    const WallTime known = history_.KnownSince(At(WindowBegin()));
    return static_cast<int>(
        std::chrono::duration_cast<std::chrono::hours>(known.time_since_epoch()).count());
  }
  std::size_t NumberOf(NodeIndex node) const {
    return std::stoul(data_center_->node(node).name.substr(1));
  }

  std::mt19937 random_;
  const Events events_;
  int time_ = 0;
  std::map<std::size_t, Node> nodes_;  // by number, those that are there
  std::map<std::size_t, std::vector<std::pair<int, Node>>> past_;  // until when it was what
  int last_change_ = kForever;                                     // but of shares, and joins
  Share wanted_, effective_;
  RetiredRing missing_ = RetiredRing::kNone;
  std::optional<int> restored_at_;
  AnswerHistory history_;
  std::shared_ptr<const DataCenter> data_center_;
  std::vector<std::string> keys_;
  std::vector<std::string_view> views_;
  std::map<std::pair<std::size_t, bool>, Log> log_;  // by key and pool
};

Figures Simulate(Rule rule, Simulation::Events events, std::uint32_t seeds = 3) {
  std::vector<Figures> figures(1);
  for (std::uint32_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Simulation(seed, events).Run(1'000, {rule}, figures);
    if (::testing::Test::HasFatalFailure()) break;
  }
  const auto record = [](const std::string& name, std::size_t count) {
    ::testing::Test::RecordProperty(name, std::to_string(count));
  };
  const Figures& f = figures[0];
  record("answers", f.answers);
  record("cold_owners", f.cold_owners);
  record("named", f.stable.named);
  record("cold", f.stable.cold);
  record("missing", f.stable.missing);
  record("named_after_changes", f.changed.named);
  record("cold_after_changes", f.changed.cold);
  record("missing_after_changes", f.changed.missing);
  return f;
}

TEST(PreviousOwnerTest, ThroughSharesAndJoinsEveryNameIsWarmAndEveryColdOwnerHasOne) {
  const Figures figures = Simulate(TheRule, {});
  EXPECT_EQ(figures.stable.cold, 0u);
  EXPECT_EQ(figures.stable.missing, 0u);
  EXPECT_EQ(figures.changed.named, 0u);
  EXPECT_GT(figures.stable.named, figures.answers / 10);
  EXPECT_GT(figures.cold_owners, 1'000u);
}

TEST(PreviousOwnerTest, RetiredAndRestoredRingsLeaveThatTrueForTheRingsThatAreThere) {
  const Figures figures = Simulate(TheRule, {.retirement = true});
  EXPECT_EQ(figures.stable.cold, 0u);
  EXPECT_EQ(figures.stable.missing, 0u);
  EXPECT_GT(figures.cold_owners, 1'000u);
}

TEST(PreviousOwnerTest, ThroughRemovalsWeightsPoolsAndRetirementEveryNameIsWarm) {
  for (const Simulation::Events events :
       {Simulation::Events{.removals = true}, Simulation::Events{.reweights = true},
        Simulation::Events{.pool_changes = true},
        Simulation::Events{
            .removals = true, .reweights = true, .pool_changes = true, .retirement = true}}) {
    SCOPED_TRACE(::testing::Message() << "removals " << events.removals << ", reweights "
                                      << events.reweights << ", pools " << events.pool_changes);
    const Figures figures = Simulate(TheRule, events, 1);
    EXPECT_EQ(figures.stable.cold, 0u);
    EXPECT_EQ(figures.stable.missing, 0u);
    EXPECT_EQ(figures.changed.cold, 0u);
    EXPECT_GT(figures.changed.named, 10'000u);
    EXPECT_LT(figures.changed.missing, figures.cold_owners / 3);
  }
}

// An operator's script may move the share by 0.1 % a thousand times a day.
TEST(PreviousOwnerTest, MoreChangesThanAreRememberedCostNamesAndNameNoColdNode) {
  std::vector<Figures> figures;
  Simulation(1, {.share_changes = 30, .window = 1'600}).Run(2'000, {TheRule}, figures);
  EXPECT_EQ(figures[0].stable.cold, 0u);
  EXPECT_EQ(figures[0].stable.missing, 0u);
  EXPECT_GT(figures[0].stable.named, figures[0].answers / 5);
}

// The simulation can tell a wrong rule.
TEST(PreviousOwnerTest, SimplerRulesNameColdNodesOrNoneInTheSameSimulation) {
  const Figures mark = Simulate(HighWaterMark, {}, 1);
  EXPECT_GT(mark.stable.cold, mark.stable.named / 20);
  EXPECT_GT(Simulate(WithoutFirstShare, {}, 1).stable.cold, 0u);
  const Figures unmasked = Simulate(WithoutMasking, {}, 1);
  EXPECT_GT(unmasked.stable.cold, 0u);
  EXPECT_GT(unmasked.stable.missing, 0u);
  EXPECT_GT(Simulate(MaskedOtherRing, {}, 1).stable.cold, 0u);
}

class PreviousOwnerCaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DataCenterSpec spec = MakeSpec(10);
    for (const std::size_t i : {1u, 4u, 5u, 9u}) spec.nodes[i].features = {"f"};
    spec.pools = {{"few", {"f"}}};
    ASSERT_OK_AND_ASSIGN(data_center_, DataCenter::Build(spec));
  }

  std::shared_ptr<const RoutingTable> Table(std::int64_t ppm, const Warmth& warmth,
                                            const std::vector<NodeIndex>& young = {}) {
    RouterState state;
    state.warmth = warmth;
    NodeMask settled = NodeMask::All(data_center_->node_set().size());
    for (const NodeIndex node : young) settled.Erase(node);
    state.settled = std::make_shared<const NodeMask>(settled);
    return RoutingTable::Create(data_center_, MakeMigration("ams", ppm), state).value();
  }

  std::shared_ptr<const DataCenter> data_center_;
};

TEST_F(PreviousOwnerCaseTest, AfterARollbackItIsTheOwnerOfV2ForEveryKeyThatMoved) {
  const Warmth warmth = {
      .v2_warm_below = Ppm(400'000), .v1_warm_from = Ppm(0), .first_share = Share::None()};
  const auto before = Table(400'000, warmth);
  const auto after = Table(0, warmth);
  ASSERT_TRUE(after->has_previous_owners());
  std::size_t moved = 0;
  for (std::size_t i = 0; i < 2'000; ++i) {
    for (const std::string_view pool : {"", "few"}) {
      const std::string key = Key(i);
      ASSERT_OK_AND_ASSIGN(const RouteAnswer then, Route(*before, {key, pool}));
      ASSERT_OK_AND_ASSIGN(const RouteAnswer now, Route(*after, {key, pool}));
      ASSERT_EQ(now.bucket, Decision("salt").Bucket(key));
      ASSERT_EQ(now.position, Ring::Position(key));
      const NodeIndex owner = then.nodes()[0];
      if (owner == now.nodes()[0]) {
        ASSERT_EQ(now.previous_owner, std::nullopt);
      } else {
        ++moved;
        ASSERT_EQ(now.previous_owner, owner);
        ASSERT_OK_AND_ASSIGN(const auto holders, FindHolders(*after, {.key = key, .pool = pool}));
        ASSERT_EQ(holders[1].node, owner);
      }
    }
  }
  EXPECT_GT(moved, 1'000u);
}

TEST_F(PreviousOwnerCaseTest, ItIsNoneWhereTheAnswerHasTheNodeAlready) {
  const auto table = Table(
      0, {.v2_warm_below = Share::All(), .v1_warm_from = Ppm(0), .first_share = Share::None()});
  std::size_t had = 0;
  for (std::size_t i = 0; i < 1'000; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const RouteAnswer one, Route(*table, {key, ""}));
    ASSERT_OK_AND_ASSIGN(const RouteAnswer four, Route(*table, {key, "", 4}));
    if (!one.previous_owner) continue;
    const bool is_replica = std::find(four.nodes().begin(), four.nodes().end(),
                                      *one.previous_owner) != four.nodes().end();
    ASSERT_EQ(four.previous_owner, is_replica ? std::nullopt : one.previous_owner);
    had += is_replica;
  }
  EXPECT_GT(had, 100u);
}

TEST_F(PreviousOwnerCaseTest, AllNodesOfAPoolBeingYoungThereIsNone) {
  std::vector<NodeIndex> young;
  for (NodeIndex node = 0; node < 10; ++node) {
    if (data_center_->pools()[1].nodes.Contains(node)) young.push_back(node);
  }
  const auto table = Table(0, {}, young);
  std::size_t named = 0;
  for (std::size_t i = 0; i < 500; ++i) {
    const std::string key = Key(i);
    ASSERT_OK_AND_ASSIGN(const RouteAnswer few, Route(*table, {key, "few"}));
    ASSERT_OK_AND_ASSIGN(const RouteAnswer all, Route(*table, {key, ""}));
    ASSERT_EQ(few.previous_owner, std::nullopt);
    const bool is_young = data_center_->pools()[1].nodes.Contains(all.nodes()[0]);
    ASSERT_EQ(all.previous_owner.has_value(), is_young);
    named += is_young;
  }
  EXPECT_GT(named, 100u);
}

// One settled node of 2,000: a walk to it would be long.
TEST(PreviousOwnerLimitTest, SettledNodesThatAreTooFewAreNotLookedFor) {
  DataCenterSpec spec = MakeSpec(2'000, 1);
  spec.v1->points_per_weight = spec.v2.points_per_weight = 4;
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(spec));
  for (const std::size_t settled_nodes : {1u, 4u}) {
    NodeMask settled(2'000);
    for (NodeIndex node = 0; node < settled_nodes; ++node) settled.Insert(node);
    RouterState state;
    state.settled = std::make_shared<const NodeMask>(settled);
    ASSERT_OK_AND_ASSIGN(const auto table,
                         RoutingTable::Create(data_center, MakeMigration("ams", 0), state));
    ASSERT_OK_AND_ASSIGN(const RouteAnswer answer, Route(*table, {"key", ""}));
    EXPECT_EQ(answer.previous_owner.has_value(), settled_nodes == 4);
  }
}

TEST_F(PreviousOwnerCaseTest, TheDescriptionSaysWhereTheNameIsFrom) {
  const auto describe = [](const RoutingTable& table, std::string_view key) {
    const RouteAnswer answer = Route(table, {key, ""}).value();
    return DescribePreviousOwner(table, answer.pool, answer.position, answer.bucket,
                                 answer.ring_version, answer.nodes());
  };
  EXPECT_THAT(describe(*Table(0, {}), "k"), HasSubstr("no key has one"));
  const auto rolled_back = Table(
      0, {.v2_warm_below = Share::All(), .v1_warm_from = Ppm(0), .first_share = Share::None()});
  const RouteAnswer answer = Route(*rolled_back, {Key(1), ""}).value();
  ASSERT_TRUE(answer.previous_owner);
  EXPECT_THAT(describe(*rolled_back, Key(1)),
              HasSubstr("ring v2 answered bucket " + std::to_string(answer.bucket) +
                        " within the warm window, and gives the key to " +
                        data_center_->node(*answer.previous_owner).name));
  const auto joined = Table(0, {}, {answer.nodes()[0]});
  EXPECT_THAT(describe(*joined, Key(1)),
              HasSubstr("ring v1 answered bucket " + std::to_string(answer.bucket) +
                        " before nodes changed, and gave the key to "));
}

}  // namespace
}  // namespace ringshift
