#include "client/ringctl/reload_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/client/ringctl/printed.h"

namespace ringshift {
namespace {

using ::ringshift::testing::Json;
using ::ringshift::testing::Printed;
using ::testing::HasSubstr;

TopologyChanges Changes() {
  TopologyChanges changes;
  v1::TopologyChange* change = changes.Add();
  change->set_data_center("ams");
  change->set_outcome(v1::RELOAD_OUTCOME_HELD);
  change->set_reason("moves 23.4512% of the key space (pool default), above 10%");
  change->set_nodes_before(10);
  change->set_nodes_after(8);
  change->set_nodes_removed(2);
  change->set_nodes_reweighted(1);
  change->set_moved_ratio(0.234512);
  change->set_moved_pool("default");
  change->set_moved_ratio_v1(0.25);
  change->set_moved_ratio_v2(0.125);
  change = changes.Add();
  change->set_data_center("fra");
  change->set_outcome(v1::RELOAD_OUTCOME_UNCHANGED);
  change = changes.Add();
  change->set_data_center("new");
  change->set_outcome(v1::RELOAD_OUTCOME_APPLIED);
  change->set_nodes_after(3);
  change->set_nodes_added(3);
  return changes;
}

TEST(ReloadViewTest, ChangesHaveTheirFiguresAndWhatIsUnchangedIsCounted) {
  EXPECT_EQ(
      Printed([](Output& output) { PrintChanges(Changes(), output); }),
      "DATA CENTER  OUTCOME  NODES    ADDED  REMOVED  REWEIGHTED  READDRESSED     MOVED  POOL\n"
      "ams          held     10 -> 8      0        2           1            0  23.4512%  default\n"
      "new          applied  0 -> 3       3        0           0            0         -  -\n"
      "ams: moves 23.4512% of the key space (pool default), above 10%\n"
      "1 data center is as before.\n");
}

TEST(ReloadViewTest, WhereNothingChangesThereIsNoTable) {
  TopologyChanges changes;
  for (int i = 0; i < 2; ++i) changes.Add()->set_outcome(v1::RELOAD_OUTCOME_UNCHANGED);
  EXPECT_EQ(Printed([&](Output& output) { PrintChanges(changes, output); }),
            "2 data centers are as before.\n");
}

TEST(ReloadViewTest, JsonHasEveryMemberWhateverItsValue) {
  const std::string changes = Json([](JsonWriter& json) { WriteChanges(Changes(), json); });
  EXPECT_THAT(changes,
              HasSubstr(R"([{"data_center":"ams","outcome":"held","reason":"moves 23.4512% of the )"
                        R"(key space (pool default), above 10%","nodes_before":10,"nodes_after":8,)"
                        R"("nodes_added":0,"nodes_removed":2,"nodes_reweighted":1,)"
                        R"("nodes_readdressed":0,"moved_ratio":0.234512,"moved_pool":"default",)"
                        R"("moved_ratio_v1":0.25,"moved_ratio_v2":0.125},)"));
  EXPECT_THAT(changes, HasSubstr(R"({"data_center":"fra","outcome":"unchanged","reason":"",)"));
  EXPECT_EQ(Json([](JsonWriter& json) { WriteReloadStatus({}, json); }),
            R"({"file":"","checksum":"","last_attempt_time":null,"last_trigger":"unknown",)"
            R"("last_error_code":0,"last_error":"","last_success_time":null,"generation":0,)"
            R"("held":[],"store_error":""})"
            "\n");
}

}  // namespace
}  // namespace ringshift
