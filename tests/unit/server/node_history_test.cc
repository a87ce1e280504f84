// Whom rings gave keys before their nodes changed, against the rings that were.
#include "server/node_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ring/ring.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/server/small_topology.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Built;
using ::ringshift::testing::SmallDataCenter;
using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

using DataCenterPtr = std::shared_ptr<const DataCenter>;

WallTime At(int seconds) { return WallTime(std::chrono::seconds(seconds)); }

NodeSpec MakeNode(const std::string& name, const std::string& address, std::uint32_t weight = 10) {
  NodeSpec node;
  node.name = name;
  node.address = address;
  node.weight = weight;
  return node;
}

// Of n0, n1, n2 and what is added to them.
DataCenterPtr With(const std::vector<NodeSpec>& more) {
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.nodes.insert(spec.nodes.end(), more.begin(), more.end());
  return Built(spec);
}

// The names of the settled nodes; "all" where no mask says so.
std::string Settled(const NodeHistory::Nodes& nodes, const DataCenter& data_center) {
  if (nodes.settled == nullptr) return "all";
  std::vector<std::string> names;
  for (NodeIndex node = 0; node < data_center.node_set().size(); ++node) {
    if (nodes.settled->Contains(node)) names.push_back(data_center.node(node).name);
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += name;
  return text;
}

TEST(NodeHistoryTest, ANodeThatCameIsYoungUntilTheWindowBeginsWithIt) {
  const DataCenterPtr before = With({});
  const DataCenterPtr after = With({MakeNode("x", "10.0.1.1:1")});
  NodeHistory history;
  history.Change(*before, *before, At(8), At(0));
  EXPECT_EQ(history, NodeHistory());
  history.Change(*before, *after, At(9), At(0));
  const NodeHistory::Nodes nodes = history.At(*after, At(8));
  EXPECT_EQ(Settled(nodes, *after), "n0n1n2");
  EXPECT_EQ(nodes.past, nullptr);  // the mask says all
  EXPECT_EQ(history.FirstChange(At(8)), At(9));
  EXPECT_EQ(Settled(history.At(*after, At(9)), *after), "all");
  EXPECT_EQ(history.FirstChange(At(9)), WallTime::max());
}

TEST(NodeHistoryTest, ANameWithAnotherIdentityOrAddressIsAnotherNode) {
  NodeSpec moved = MakeNode("y", "10.0.1.2:1");
  moved.ring_identity = "10.0.1.2:1";
  const DataCenterPtr before = With({MakeNode("x", "10.0.1.1:1"), moved});
  moved.address = "10.0.1.9:1";
  const DataCenterPtr after = With({MakeNode("x", "10.0.1.3:1"), moved});
  NodeHistory history;
  history.Change(*before, *after, At(9), At(0));
  const NodeHistory::Nodes nodes = history.At(*after, At(1));
  EXPECT_EQ(Settled(nodes, *after), "n0n1n2");
  ASSERT_NE(nodes.past, nullptr);
  std::size_t gone = 0;
  for (const PastNode& node : nodes.past->nodes()) gone += !node.node;
  EXPECT_EQ(gone, 2u);
}

TEST(NodeHistoryTest, WhatEndedBeforeTheWindowIsDropped) {
  const DataCenterPtr one = With({MakeNode("x", "10.0.1.1:1", 1)});
  const DataCenterPtr two = With({MakeNode("x", "10.0.1.1:1", 2)});
  NodeHistory history;
  history.Change(*one, *two, At(5), At(0));
  history.Change(*two, *one, At(9), At(4));
  EXPECT_EQ(history.ToStored().size(), 2u);
  history.Change(*one, *two, At(12), At(5));
  EXPECT_EQ(history.ToStored().size(), 2u);
  history.Change(*two, *two, At(20), At(15));
  EXPECT_EQ(history, NodeHistory());
}

TEST(NodeHistoryTest, AClockThatGoesBackKeepsTheOrder) {
  const DataCenterPtr one = With({MakeNode("x", "10.0.1.1:1", 1)});
  const DataCenterPtr two = With({MakeNode("x", "10.0.1.1:1", 2)});
  const DataCenterPtr three = With({MakeNode("x", "10.0.1.1:1", 3)});
  NodeHistory history;
  history.Change(*one, *two, At(9), At(0));
  history.Change(*two, *three, At(4), At(0));
  const std::vector<NodeChange> stored = history.ToStored();
  ASSERT_EQ(stored.size(), 2u);
  EXPECT_EQ(stored[0].time, At(9));
  EXPECT_EQ(stored[1].time, At(9) + std::chrono::microseconds(1));
  EXPECT_THAT(stored[0].before, HasSubstr("weight: 1"));
  EXPECT_THAT(stored[1].before, HasSubstr("weight: 2"));
}

TEST(NodeHistoryTest, OtherParametersLeaveNothingKnownOfBefore) {
  const DataCenterSpec spec = SmallDataCenter("ams");
  DataCenterSpec v1 = spec, v2 = spec, no_v1 = spec, layout = spec;
  v1.v1->points_per_weight = 7;
  v2.v2.points_per_weight = 7;
  no_v1.v1.reset();
  for (const DataCenterSpec& other : {v1, v2, no_v1}) {
    NodeHistory history;
    history.Change(*With({}), *With({MakeNode("x", "10.0.1.1:1")}), At(4), At(0));
    history.Change(*Built(spec), *Built(other), At(9), At(0));
    EXPECT_EQ(history.KnownSince(At(1)), At(9));
    EXPECT_EQ(history.KnownSince(At(10)), At(10));
    EXPECT_EQ(Settled(history.At(*Built(other), At(9)), *Built(other)), "all");
    ASSERT_OK_AND_ASSIGN(const NodeHistory read, NodeHistory::Parse(history.ToStored()));
    EXPECT_EQ(read, history);
    history.Change(*Built(other), *Built(other), At(20), At(9));
    EXPECT_EQ(history, NodeHistory());
  }
  layout.v2.layout = RingLayout::kWide;
  NodeHistory history;
  history.Change(*Built(spec), *Built(layout), At(9), At(0));
  EXPECT_EQ(history, NodeHistory());
}

TEST(NodeHistoryTest, ANodeIsTheSameWhateverItIsCalled) {
  const DataCenterPtr before = With({MakeNode("x", "10.0.1.1:1"), MakeNode("y", "10.0.1.2:1")});
  NodeHistory history;
  history.Change(*before, *With({MakeNode("y", "10.0.1.1:1"), MakeNode("z", "10.0.1.2:1")}), At(9),
                 At(0));
  EXPECT_EQ(history, NodeHistory());
}

TEST(NodeHistoryTest, APoolThatIsDefinedAnewChangesNothingInOthers) {
  DataCenterSpec spec = SmallDataCenter("ams");
  spec.nodes[1].features = {"big"};
  spec.pools.push_back({"big", {"big"}});
  DataCenterSpec other = spec;
  other.pools[0].required_features = {"big"};
  other.pools.push_back({"large", {"big"}});
  const DataCenterPtr after = Built(other);
  NodeHistory history;
  history.Change(*Built(spec), *after, At(9), At(0));
  const NodeHistory::Nodes nodes = history.At(*after, At(1));
  EXPECT_EQ(nodes.settled, nullptr);
  ASSERT_NE(nodes.past, nullptr);
  const std::size_t special = after->FindPool("special").value();
  const std::size_t big = after->FindPool("big").value();
  const std::size_t large = after->FindPool("large").value();
  EXPECT_EQ(nodes.past->young(0).count(), 0u);
  EXPECT_EQ(nodes.past->young(big).count(), 0u);
  EXPECT_EQ(nodes.past->young(special), after->pools()[special].nodes);
  EXPECT_EQ(nodes.past->young(large), after->pools()[large].nodes);
  EXPECT_EQ(nodes.past->young(large).count(), 1u);
  ASSERT_OK_AND_ASSIGN(const NodeHistory read, NodeHistory::Parse(history.ToStored()));
  EXPECT_EQ(read, history);
  EXPECT_EQ(history.FirstChange(At(1)), At(9));
  EXPECT_EQ(history.LastChange(At(1)), At(9));
  EXPECT_EQ(history.At(*after, At(9)).past, nullptr);
}

TEST(NodeHistoryTest, MorePointsThanAreHeldLeaveNothingKnownOfBefore) {
  // 5,280 points a node in both rings, and 250,000 at most.
  std::vector<NodeSpec> nodes;
  for (int i = 0; i < 80; ++i) {
    nodes.push_back(MakeNode("x" + std::to_string(i), "10.0.1." + std::to_string(i) + ":1", 30));
  }
  const DataCenterPtr before = With(nodes);
  nodes.resize(60);
  const DataCenterPtr fewer = With(nodes);
  NodeHistory history;
  history.Change(*before, *fewer, At(5), At(0));
  EXPECT_EQ(history.KnownSince(At(0)), At(0));
  EXPECT_EQ(history.ToStored().size(), 20u);
  history.Change(*fewer, *With({}), At(9), At(0));
  EXPECT_EQ(history.KnownSince(At(0)), At(9));
  EXPECT_EQ(history.ToStored().size(), 1u);
}

TEST(NodeHistoryTest, OneOfSixNodesMayLeaveARingOfUpToSixteenMillionPoints) {
  for (const std::uint32_t weight : {1u, 1'000u, 20'000u}) {
    DataCenterSpec spec = SmallDataCenter("ams");
    for (NodeSpec& node : spec.nodes) node.weight = weight;
    for (int i = 3; i < 6; ++i) {
      spec.nodes.push_back(
          MakeNode("n" + std::to_string(i), "10.0.0." + std::to_string(i) + ":443", weight));
    }
    DataCenterSpec without = spec;
    without.nodes.pop_back();
    NodeHistory history;
    history.Change(*Built(spec), *Built(without), At(9), At(0));
    EXPECT_EQ(history.KnownSince(At(1)), At(1)) << weight;
  }
}

TEST(NodeHistoryTest, WhatTheStoreHasAndMakesNoSenseIsDataLoss) {
  NodeHistory history;
  history.Change(*With({MakeNode("x", "10.0.1.1:1")}), *With({}), At(9), At(0));
  std::vector<NodeChange> stored = history.ToStored();
  ASSERT_EQ(stored.size(), 1u);
  stored[0].node = "y";
  EXPECT_THAT(NodeHistory::Parse(stored),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("node \"y\" is of another one")));
  stored[0].before = "data_centers: 7";
  EXPECT_THAT(NodeHistory::Parse(stored),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("record of node \"y\":1:")));
}

TEST(NodeHistoryTest, MorePointsThanAreHeldAreForgottenWhereTheyCameFromTheStore) {
  NodeHistory history;
  history.Change(*With({MakeNode("x", "10.0.1.1:1", 30'000)}), *With({}), At(9), At(0));
  EXPECT_EQ(history.KnownSince(At(1)), At(9));
  DataCenterSpec large = SmallDataCenter("ams");
  for (NodeSpec& node : large.nodes) node.weight = 30'000;
  NodeHistory of_large;
  DataCenterSpec larger = large;
  larger.nodes[0].weight = 40'000;
  of_large.Change(*Built(larger), *Built(large), At(9), At(0));
  EXPECT_EQ(of_large.KnownSince(At(1)), At(1));
  ASSERT_OK_AND_ASSIGN(NodeHistory read, NodeHistory::Parse(of_large.ToStored()));
  read.Bound(*With({}), At(12), At(1));
  EXPECT_EQ(read.KnownSince(At(1)), At(12));
}

// A data center that lives through random changes of its nodes, kept in a store between them.
class Life {
 public:
  explicit Life(std::uint32_t seed) : random_(seed) {
    spec_ = SmallDataCenter("ams");
    spec_.v1->points_per_weight = 12;
    spec_.v2.points_per_weight = 5;
    for (int i = 3; i < 12; ++i) Add(i);
    was_.push_back({At(0), Built(spec_)});
  }

  const DataCenterPtr& now() const { return was_.back().data_center; }

  void Change(int time) {
    const std::size_t node = random_() % spec_.nodes.size();
    switch (random_() % 7) {
      case 5:
        spec_.nodes[node].name = "r" + std::to_string(time);
        break;
      case 6:
        spec_.pools[0].required_features = {random_() % 2 == 0 ? "other" : "special"};
        break;
      case 0:
        Add(static_cast<int>(random_() % 16));
        break;
      case 1:
        if (spec_.nodes.size() > 3) {
          spec_.nodes.erase(spec_.nodes.begin() + static_cast<std::ptrdiff_t>(node));
        }
        break;
      case 2:
        spec_.nodes[node].features.empty() ? spec_.nodes[node].features.push_back("special")
                                           : spec_.nodes[node].features.clear();
        break;
      case 3:
        spec_.nodes[node].address = Address(next_address_++ % 150 + 100);
        break;
      default:
        spec_.nodes[node].weight = static_cast<std::uint32_t>(1 + random_() % 5);
    }
    const DataCenterPtr next = Built(spec_);
    history_.Change(*now(), *next, At(time), At(time - kWindow));
    history_ = NodeHistory::Parse(history_.ToStored()).value();
    was_.push_back({At(time), next});
  }

  // Of all beginnings of the window that are left at `time`.
  void Check(int time) {
    for (const int begin : {time - kWindow, time - kWindow / 2, time - 1}) {
      const NodeHistory::Nodes nodes = history_.At(*now(), At(begin));
      for (std::size_t pool = 0; pool < 2; ++pool) CheckPool(nodes, pool, At(begin));
    }
  }

  std::size_t known = 0, unknown = 0, lasting = 0, ended = 0;

 private:
  static constexpr int kWindow = 12;
  struct Was {
    WallTime since;
    DataCenterPtr data_center;
  };

  static std::string Address(int number) { return "10.0.0." + std::to_string(number) + ":443"; }
  void Add(int number) {
    const std::string name = "n" + std::to_string(number);
    for (const NodeSpec& node : spec_.nodes) {
      if (node.name == name || node.address == Address(number)) return;
    }
    NodeSpec& node = spec_.nodes.emplace_back(MakeNode(name, Address(number)));
    node.weight = static_cast<std::uint32_t>(1 + random_() % 3);
    if (number % 2 == 0) node.features = {"special"};
    if (number % 3 == 0) node.features.push_back("other");
  }

  // The address of the owner, which is its identity too; "" where the pool has no node.
  static std::string Owner(const DataCenter& data_center, RingVersion version, std::size_t pool,
                           std::uint32_t position) {
    const NodeMask& nodes = data_center.pools()[pool].nodes;
    if (nodes.count() == 0) return "";
    return data_center.node(data_center.ring(version)->RingOf(pool).OwnerAt(position, nodes))
        .address;
  }

  static bool IsInPool(const DataCenter& data_center, std::size_t pool, const std::string& who) {
    for (NodeIndex node = 0; node < data_center.node_set().size(); ++node) {
      if (data_center.node(node).address == who) {
        return data_center.pools()[pool].nodes.Contains(node);
      }
    }
    return false;
  }

  void CheckPool(const NodeHistory::Nodes& nodes, std::size_t pool, WallTime begin) {
    const NodeMask& members = now()->pools()[pool].nodes;
    if (members.count() == 0) return;
    std::vector<DataCenterPtr> within;  // the first one was there when the window began
    for (const Was& was : was_) {
      if (was.since <= begin) within.clear();
      within.push_back(was.data_center);
    }
    NodeMask settled = members;
    if (nodes.settled != nullptr) settled = settled & *nodes.settled;
    if (nodes.past != nullptr) settled.Erase(nodes.past->young(pool));
    for (NodeIndex node = 0; node < members.size(); ++node) {
      const std::string& address = now()->node(node).address;
      const bool was_there =
          std::all_of(within.begin(), within.end(),
                      [&](const DataCenterPtr& each) { return IsInPool(*each, pool, address); });
      ASSERT_EQ(settled.Contains(node), was_there) << address;
    }
    if (nodes.past == nullptr || settled.count() == 0) return;
    for (int i = 0; i < 60; ++i) {
      const auto position = static_cast<std::uint32_t>(random_());
      for (const RingVersion version : {RingVersion::kV1, RingVersion::kV2}) {
        const Ring& ring = now()->ring(version)->RingOf(pool);
        const std::string first = Owner(*within.front(), version, pool, position);
        const bool stayed = !first.empty() && std::all_of(within.begin(), within.end(),
                                                          [&](const DataCenterPtr& each) {
                                                            return IsInPool(*each, pool, first);
                                                          });
        const auto found = nodes.past->FirstOwner(ring, pool, position, settled);
        ASSERT_EQ(found.has_value(), stayed) << first;
        if (found) {
          ASSERT_EQ(now()->node(*found).address, first);
        }
        ++(found ? known : unknown);

        const Ring::Point point = FirstPoint(ring, position, members);
        const std::string& owner = now()->node(point.node).address;
        if (!settled.Contains(point.node)) continue;
        const bool owned = nodes.past->OwnedThroughout(version, pool, position, point);
        ++(owned ? lasting : ended);
        for (const DataCenterPtr& each : within) {
          if (owned) {
            ASSERT_EQ(Owner(*each, version, pool, position), owner);
          }
        }
      }
    }
  }

  std::mt19937 random_;
  int next_address_ = 0;
  DataCenterSpec spec_;
  NodeHistory history_;
  std::vector<Was> was_;
};

TEST(NodeHistoryTest, ThroughAnyChangesTheFirstOwnersAreThoseOfTheRingThatWas) {
  std::size_t known = 0, unknown = 0, lasting = 0, ended = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    Life life(seed);
    for (int time = 20; time < 140; ++time) {
      if (time % 3 == 0) life.Change(time);
      life.Check(time);
      if (::testing::Test::HasFatalFailure()) return;
    }
    known += life.known;
    unknown += life.unknown;
    lasting += life.lasting;
    ended += life.ended;
  }
  EXPECT_GT(known, 100'000u);
  EXPECT_GT(unknown, 10'000u);
  EXPECT_GT(lasting, 50'000u);
  EXPECT_GT(ended, 10'000u);
}

}  // namespace
}  // namespace ringshift
