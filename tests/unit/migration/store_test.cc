// The contract of a MigrationStore, for those that need no server.
#include <memory>
#include <string>

#include "migration/sqlite_store.h"
#include "tests/unit/migration/store_contract.h"
#include "tests/unit/server/memory_store.h"

namespace ringshift::testing {
namespace {

std::unique_ptr<MigrationStore> MakeSqliteStore(const std::string& folder, const WallClock& clock) {
  return SqliteStore::Open(folder + "/state.db", SqliteStore::IfMissing::kCreate, clock).value();
}

std::unique_ptr<MigrationStore> MakeMemoryStore(const std::string&, const WallClock& clock) {
  return std::make_unique<MemoryStore>(clock);
}

INSTANTIATE_TEST_SUITE_P(, StoreContractTest,
                         ::testing::Values(StoreKind{"Sqlite", &MakeSqliteStore},
                                           StoreKind{"Memory", &MakeMemoryStore}),
                         NameOfStore);

}  // namespace
}  // namespace ringshift::testing
