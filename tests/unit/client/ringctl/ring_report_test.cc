#include "client/ringctl/ring_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/client/ringctl/offline_testing.h"
#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::MakeDataCenter;
using ::ringshift::testing::Printed;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// 1,200 nodes, of which every second is in the pool `half`, and as many pools of one node as said.
OfflineDataCenter SparsePools(int pools) {
  std::vector<std::string> nodes;
  std::string more = "    pools:\n      - {name: half, required_features: [half]}\n";
  for (int i = 0; i < 1200; ++i) {
    const std::string n = std::to_string(i);
    std::string features = i % 2 == 0 ? "half" : "";
    if (i < pools) {
      features += (features.empty() ? "f" : ", f") + n;
      more += "      - {name: p" + n + ", required_features: [f" + n + "]}\n";
    }
    nodes.push_back("{name: n" + n + ", address: \"10.0." + std::to_string(i / 256) + "." +
                    std::to_string(i % 256) + ":443\", weight: 1, features: [" + features + "]}");
  }
  return MakeDataCenter(nodes, more);
}

RingReport Report(const OfflineDataCenter& data_center) {
  return ReportRing(data_center, BuildRing(data_center, data_center.spec.v2).value()).value();
}

std::string Print(const OfflineDataCenter& data_center, const RingReport& report) {
  return Printed([&](Output& output) {
    PrintReport({data_center.spec.name,
                 data_center.nodes->size(),
                 data_center.nodes->total_weight(),
                 {report}},
                output);
  });
}

TEST(RingReportTest, TheMemoryIsWithTheOwnRingsOfPoolsAndTheBytesOfAPointAreWithout) {
  const OfflineDataCenter data_center = SparsePools(2);
  const auto ring = BuildRing(data_center, data_center.spec.v2).value().ring;
  const RingReport report = Report(data_center);
  ASSERT_EQ(report.pools.size(), 4U);
  EXPECT_EQ(report.pools[1].own_ring_bytes, 0U);
  EXPECT_NEAR(report.pools[1].walk.mean, 2, 0.1);
  std::uint64_t own = 0;
  for (std::size_t i = 2; i < 4; ++i) {
    EXPECT_GT(report.pools[i].walk.mean, 512);
    EXPECT_GT(report.pools[i].own_ring_bytes, 0U);
    EXPECT_FALSE(report.pools[i].lacks_own_ring);
    own += report.pools[i].own_ring_bytes;
  }
  EXPECT_EQ(report.memory_bytes, ring->memory_bytes() + own);
  const std::string text = Print(data_center, report);
  EXPECT_THAT(text,
              AllOf(ContainsRegex("half  +v2  +9,600  +2\\.[0-9]  +[0-9]+  not needed\n"),
                    ContainsRegex("p0  +v2  +16  +[0-9.]+  +[0-9,]+  [0-9.]+ [Ki]*B\n"),
                    HasSubstr("of that, own rings of pools"), Not(HasSubstr("no memory left"))));
}

TEST(RingReportTest, APoolWhoseOwnRingFoundNoMemoryIsSaidToLackIt) {
  const OfflineDataCenter data_center = SparsePools(40);
  const RingReport report = Report(data_center);
  std::size_t lacking = 0;
  for (const PoolReport& pool : report.pools) {
    lacking += pool.lacks_own_ring;
    EXPECT_EQ(pool.lacks_own_ring, pool.walk.mean > 512 && pool.own_ring_bytes == 0);
  }
  EXPECT_GT(lacking, 0U);
  EXPECT_LT(lacking, 40U);
  EXPECT_THAT(Print(data_center, report),
              AllOf(HasSubstr("no memory left\n"), HasSubstr("less than 1/16 of the ring")));
}

}  // namespace
}  // namespace ringshift
