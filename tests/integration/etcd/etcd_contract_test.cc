// The contract of a MigrationStore, for the one in etcd.
#include <memory>
#include <string>

#include "migration/etcd/etcd_state.h"
#include "migration/etcd/etcd_store.h"
#include "tests/integration/etcd/etcd_server.h"
#include "tests/unit/migration/store_contract.h"

namespace ringshift::testing {
namespace {

// One etcd for all stores of the program, each with a prefix of its own.
std::unique_ptr<MigrationStore> MakeEtcdStore(const std::string& folder, const WallClock& clock) {
  static EtcdServer* const etcd = new EtcdServer();
  return EtcdStore::Open({.etcd = etcd->ClientOptions(),
                          .prefix = "/" + ToHex(RandomBytes()) + "/",
                          .cache_path = folder + "/cache.db",
                          .clock = clock})
      .value();
}

INSTANTIATE_TEST_SUITE_P(, StoreContractTest, ::testing::Values(StoreKind{"Etcd", &MakeEtcdStore}),
                         NameOfStore);

}  // namespace
}  // namespace ringshift::testing
