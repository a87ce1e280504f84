#include "client/ringctl/topology_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Json;
using ::ringshift::testing::Printed;
using ::testing::AllOf;
using ::testing::HasSubstr;

v1::RingSummary Ring(v1::RingVersion version, std::int64_t memory_bytes) {
  v1::RingSummary ring;
  ring.set_ring_version(version);
  ring.set_points_per_weight(160);
  ring.set_layout(v1::RING_LAYOUT_WIDE);
  ring.set_points(1600);
  ring.set_memory_bytes(memory_bytes);
  ring.set_build_seconds(0.0015);
  ring.set_checksum(0xabc);
  ring.set_cv(0.08125);
  ring.set_max_ratio(1.25);
  ring.set_min_ratio(0.75);
  return ring;
}

v1::DataCenterSummary Ams() {
  v1::DataCenterSummary ams;
  ams.set_name("ams");
  ams.set_tier("canary");
  ams.set_nodes(2);
  ams.set_total_weight(20'000);
  ams.set_pools(2);
  ams.set_requested_v2_ppm(125'000);
  ams.set_effective_v2_ppm(0);
  ams.set_effective_reason("v2 is being built");
  ams.set_checksum(0x0123456789abcdef);
  *ams.add_rings() = Ring(v1::RING_VERSION_V1, 12'800);
  *ams.add_rings() = Ring(v1::RING_VERSION_V2, 9'600);
  return ams;
}

v1::DataCenterSummary WithoutV1() {
  v1::DataCenterSummary data_center;
  data_center.set_name("new");
  data_center.set_requested_v2_ppm(1'000'000);
  data_center.set_effective_v2_ppm(1'000'000);
  data_center.set_is_held(true);
  *data_center.add_rings() = Ring(v1::RING_VERSION_V2, 9'600);
  return data_center;
}

v1::GetTopologyResponse Topology() {
  v1::GetTopologyResponse topology;
  *topology.mutable_data_center() = Ams();
  topology.set_identity_style("canonical");
  v1::Pool* pool = topology.add_pools();
  pool->set_name("default");
  pool->set_nodes(2);
  pool = topology.add_pools();
  pool->set_name("fedramp");
  pool->add_required_features("fedramp");
  pool->add_required_features("ssd");
  v1::Node* node = topology.add_nodes();
  node->set_name("cache-\033");
  node->set_address("10.0.0.1:443");
  node->set_weight(625);
  node->add_features("ssd");
  node->set_zone("r1");
  node->set_ring_identity("10.0.0.9:443");
  return topology;
}

TEST(TopologyViewTest, DataCentersAreALineEachAndWhatDiffersHasItsReason) {
  EXPECT_EQ(Printed([](Output& output) {
              PrintDataCenters({Ams(), WithoutV1()}, output);
            }),
            "DATA CENTER  TIER    NODES  WEIGHT  POOLS     V2  EFFECTIVE  V1 MEMORY  V2 MEMORY  "
            "CHECKSUM  "
            "        HELD\n"
            "ams          canary      2  20,000      2  12.5%         0%   12.5 KiB    9.4 KiB  "
            "0123456789abcdef  -\n"
            "new          -           0       0      0   100%       100%          -    9.4 KiB  "
            "0000000000000000  held\n"
            "\n"
            "ams answers with 0%, not 12.5%: v2 is being built\n");
}

TEST(TopologyViewTest, OneDataCenterHasItsRingsPoolsAndNodes) {
  const std::string text = Printed([](Output& output) { PrintTopology(Topology(), output); });
  EXPECT_THAT(text, AllOf(HasSubstr("share of v2     12.5%\n"
                                    "effective       0%: v2 is being built\n"
                                    "identity style  canonical\n"
                                    "checksum        0123456789abcdef\n"
                                    "held            no\n"),
                          HasSubstr("RING                             v1                v2\n"),
                          HasSubstr("highest load                  1.250             1.250\n"),
                          HasSubstr("POOL     NODES  REQUIRED FEATURES\n"
                                    "default      2  -\n"
                                    "fedramp      0  fedramp, ssd\n"),
                          HasSubstr("NODE        ADDRESS       WEIGHT  ZONE  FEATURES  RING "
                                    "IDENTITY\n"
                                    "cache-\\x1b  10.0.0.1:443     625  r1    ssd       "
                                    "10.0.0.9:443\n")));
}

TEST(TopologyViewTest, JsonHasEveryMemberWhateverItsValue) {
  EXPECT_EQ(Json([](JsonWriter& json) { WriteDataCenter({}, json); }),
            R"({"data_center":"","tier":"","nodes":0,"total_weight":0,"pools":0,)"
            R"("requested_v2_ppm":null,"effective_v2_ppm":null,"effective_reason":"",)"
            R"("checksum":"0000000000000000","is_held":false,"rings":[]})"
            "\n");
  const std::string json = Json([](JsonWriter& writer) { WriteTopology(Topology(), writer); });
  EXPECT_THAT(
      json,
      AllOf(HasSubstr(R"({"summary":{"data_center":"ams","tier":"canary","nodes":2,)"),
            HasSubstr(R"("requested_v2_ppm":125000,"effective_v2_ppm":0,)"),
            HasSubstr(R"({"ring_version":"v2","points_per_weight":160,"layout":"wide",)"
                      R"("points":1600,"memory_bytes":9600,"collisions":0,"build_seconds":0.0015,)"
                      R"("checksum":"0000000000000abc","cv":0.08125,"max_ratio":1.25,)"
                      R"("min_ratio":0.75}]},"identity_style":"canonical")"),
            HasSubstr(R"("pools":[{"name":"default","nodes":2,"required_features":[]},)"
                      R"({"name":"fedramp","nodes":0,"required_features":["fedramp","ssd"]}])"),
            HasSubstr(R"("nodes":[{"name":"cache-\u001b","address":"10.0.0.1:443","weight":625,)"
                      R"("zone":"r1","features":["ssd"],"ring_identity":"10.0.0.9:443"}]})")));
}

}  // namespace
}  // namespace ringshift
