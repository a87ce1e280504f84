// Stores on an etcd under test, each as a router of its own would have it.
#ifndef RINGSHIFT_TESTS_INTEGRATION_ETCD_STORE_ON_ETCD_H_
#define RINGSHIFT_TESTS_INTEGRATION_ETCD_STORE_ON_ETCD_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "migration/etcd/etcd_store.h"
#include "tests/integration/etcd/etcd_server.h"
#include "tests/testing/set_share.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {

inline Share Percent(std::string_view text) { return Share::ParsePercent(text).value(); }

// False if it does not come true for as long as one waits for anything.
template <typename Condition>
bool Eventually(const Condition& condition) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

// The share of a data center as the store has it; none if it has none.
inline std::optional<Share> ShareOf(MigrationStore& store, std::string_view data_center) {
  const std::vector<Migration> migrations = store.Load().value();
  for (const Migration& migration : migrations) {
    if (migration.data_center == data_center) return migration.share;
  }
  return std::nullopt;
}

class StoreOnEtcd : public ::testing::Test {
 protected:
  explicit StoreOnEtcd(EtcdServer::Options options = {}) : etcd_(std::move(options)) {}

  // Of the router whose cache has that name.
  EtcdStore::Options OptionsOf(const std::string& router) const {
    EtcdStore::Options options;
    options.etcd = etcd_.ClientOptions();
    options.cache_path = etcd_.dir().File(router + ".db");
    return options;
  }
  std::unique_ptr<EtcdStore> MustOpen(const EtcdStore::Options& options) {
    absl::StatusOr<std::unique_ptr<EtcdStore>> store = EtcdStore::Open(options);
    EXPECT_THAT(store, IsOk());
    return store.ok() ? *std::move(store) : nullptr;
  }
  std::unique_ptr<EtcdStore> MustOpen(const std::string& router) {
    return MustOpen(OptionsOf(router));
  }

  static absl::Status Set(MigrationStore& store, const std::string& data_center,
                          std::string_view percent) {
    return SetShare(store, {data_center, Percent(percent), std::nullopt, "eva", "go"}).status();
  }
  static absl::Status Make(MigrationStore& store, const std::string& data_center) {
    return store.EnsureExists({data_center, Share::None(), data_center, "router", "start"})
        .status();
  }

  EtcdServer etcd_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_ETCD_STORE_ON_ETCD_H_
