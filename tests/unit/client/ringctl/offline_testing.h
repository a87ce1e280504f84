// Data centers as the offline commands have them.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_OFFLINE_TESTING_H_
#define RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_OFFLINE_TESTING_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/ringctl/offline.h"
#include "routing/topology_loader.h"

namespace ringshift::testing {

// Data center `ams` of `nodes`, which are the lines of a YAML list ("{name: a, ...}").
inline OfflineDataCenter MakeDataCenter(const std::vector<std::string>& nodes,
                                        const std::string& more = "") {
  std::string yaml = "data_centers:\n  - name: ams\n    nodes:\n";
  for (const std::string& node : nodes) yaml += "      - " + node + "\n";
  const auto loaded = ParseTopology(yaml + more, "test.yaml");
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  return FindDataCenter(*loaded, "test.yaml", "ams").value();
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_CLIENT_RINGCTL_OFFLINE_TESTING_H_
