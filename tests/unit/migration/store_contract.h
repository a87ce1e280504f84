// What every MigrationStore does: store_contract.cc has the tests, and each program that links it
// says of which stores.
//
//   INSTANTIATE_TEST_SUITE_P(, StoreContractTest, ::testing::Values(&MakeSqliteStore),
//   NameOfStore);
#ifndef RINGSHIFT_TESTS_UNIT_MIGRATION_STORE_CONTRACT_H_
#define RINGSHIFT_TESTS_UNIT_MIGRATION_STORE_CONTRACT_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "migration/store.h"

namespace ringshift::testing {

struct StoreKind {
  const char* name;
  // An empty store, which may keep files in `folder`, of its own.
  std::unique_ptr<MigrationStore> (*make)(const std::string& folder, const WallClock& clock);
};

class StoreContractTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  StoreContractTest();
  ~StoreContractTest() override;

  // Another empty one of the kind.
  std::unique_ptr<MigrationStore> MakeStore();
  // A migration at share 0, whose salt is its name.
  Migration Make(const std::string& name);
  std::vector<MigrationChange> History();
  StoreContents Contents();

  WallTime now_{std::chrono::seconds(1'800'000'000)};  // a second later at each look
  std::string folder_;
  int stores_made_ = 0;
  std::unique_ptr<MigrationStore> store_;
};

inline std::string NameOfStore(const ::testing::TestParamInfo<StoreKind>& info) {
  return info.param.name;
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_MIGRATION_STORE_CONTRACT_H_
