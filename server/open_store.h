// Opens the store that the options name.
//
// Thread safety: a function.
#ifndef RINGSHIFT_SERVER_OPEN_STORE_H_
#define RINGSHIFT_SERVER_OPEN_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "migration/store.h"
#include "server/options.h"

namespace ringshift {

struct OpenedStore {
  std::unique_ptr<MigrationStore> store;
  std::string name;      // for people: sqlite:PATH, or the address in etcd
  bool created = false;  // by this
  // How often the store went back to an older state, as etcd does when a backup is restored. Null
  // where that cannot happen unnoticed. Good as long as the store is.
  std::function<std::int64_t()> revision_regressions;
};

// Whether a store may be made by opening it, as far as that can be told before.
bool MayMakeStore(const RouterOptions& options);

// Errors: those of SqliteStore::Open or of EtcdStore::Open; of a file with a password NOT_FOUND,
// PERMISSION_DENIED and, where it is empty, INVALID_ARGUMENT.
absl::StatusOr<OpenedStore> OpenStore(const RouterOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_OPEN_STORE_H_
