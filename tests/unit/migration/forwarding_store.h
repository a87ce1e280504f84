// A MigrationStore that hands everything on to another one: for tests that step in between.
//
// Thread safety: that of the other one.
#ifndef RINGSHIFT_TESTS_UNIT_MIGRATION_FORWARDING_STORE_H_
#define RINGSHIFT_TESTS_UNIT_MIGRATION_FORWARDING_STORE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/store.h"

namespace ringshift::testing {

class ForwardingStore : public MigrationStore {
 public:
  explicit ForwardingStore(MigrationStore& store) : store_(store) {}

  absl::StatusOr<std::vector<Migration>> Load() override { return store_.Load(); }
  absl::StatusOr<Ensured> EnsureExists(const NewMigration& wanted) override {
    return store_.EnsureExists(wanted);
  }
  absl::StatusOr<std::vector<Migration>> Update(const MigrationUpdate& update) override {
    return store_.Update(update);
  }
  absl::StatusOr<DefaultShare> LoadDefaultShare() override { return store_.LoadDefaultShare(); }
  absl::StatusOr<DefaultShare> SetDefaultShare(const DefaultShareUpdate& update) override {
    return store_.SetDefaultShare(update);
  }
  absl::StatusOr<Migration> Forget(const ForgetRequest& request) override {
    return store_.Forget(request);
  }
  absl::StatusOr<Migration> Rename(const RenameRequest& request) override {
    return store_.Rename(request);
  }
  absl::StatusOr<std::vector<MigrationChange>> History(const HistoryQuery& query) override {
    return store_.History(query);
  }
  absl::StatusOr<std::vector<StoredTopology>> LoadTopologies() override {
    return store_.LoadTopologies();
  }
  absl::Status SaveTopology(const TopologyUpdate& update) override {
    return store_.SaveTopology(update);
  }
  absl::StatusOr<std::vector<Rollout>> LoadRollouts(WhichRollouts which) override {
    return store_.LoadRollouts(which);
  }
  absl::StatusOr<Rollout> SaveRollout(const RolloutUpdate& update) override {
    return store_.SaveRollout(update);
  }
  absl::StatusOr<std::int64_t> NextRolloutTerm() override { return store_.NextRolloutTerm(); }
  absl::Status Check() override { return store_.Check(); }
  absl::StatusOr<StoreContents> Export() override { return store_.Export(); }
  absl::Status Import(const StoreContents& contents) override { return store_.Import(contents); }

 private:
  MigrationStore& store_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_MIGRATION_FORWARDING_STORE_H_
