#include "migration/etcd/etcd_store.h"

#include <algorithm>
#include <random>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "migration/etcd/etcd_address.h"
#include "migration/etcd/etcd_watch.h"
#include "migration/internal/quote.h"
#include "migration/internal/sqlite_rows.h"
#include "migration/internal/store_contents.h"

namespace ringshift {
namespace {

using internal::Quote;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int kMaxAttempts = 100;  // of a change that others are faster than, each time
constexpr int kMaxReads = 5;       // that a checkpoint of somebody else spoils
constexpr milliseconds kMinRetry{50};
constexpr milliseconds kMaxRetry{2'000};

std::uint64_t RandomNumber() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// Whether an etcd that answers so leaves the cache as good as it was.
bool IsLost(const absl::Status& status) {
  return !status.ok() && !absl::IsFailedPrecondition(status) && !absl::IsNotFound(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<EtcdStore>> EtcdStore::Open(Options options) {
  absl::StatusOr<std::unique_ptr<EtcdClient>> client = EtcdClient::Create(options.etcd);
  if (!client.ok()) return client.status();
  absl::StatusOr<std::unique_ptr<EtcdCache>> cache = EtcdCache::Open(options.cache_path);
  if (!cache.ok()) return cache.status();
  const bool has_contents = (*cache)->origin().has_value();
  std::unique_ptr<EtcdStore> store(
      new EtcdStore(std::move(options), *std::move(client), *std::move(cache)));
  {
    MutexLock writing(store->write_mutex_);
    absl::Status status = store->Synchronise({}).status();
    if (absl::IsNotFound(status) && store->options_.if_missing == IfMissing::kCreate) {
      status = store->CreateStore();
    }
    if (!status.ok() && !(has_contents && IsLost(status))) {
      if (has_contents || !IsLost(status)) return status;
      return absl::Status(
          status.code(),
          absl::StrCat(std::string(status.message()), "; and the cache ",
                       internal::QuotePath(store->options_.cache_path),
                       " is empty, so nothing is known of the state: nothing is served before "
                       "etcd answers"));
    }
  }
  store->thread_ = std::thread([raw = store.get()] { raw->Follow(); });
  return store;
}

EtcdStore::EtcdStore(Options options, std::unique_ptr<EtcdClient> client,
                     std::unique_ptr<EtcdCache> cache)
    : options_(std::move(options)),
      client_(std::move(client)),
      log_(*client_, options_.prefix),
      cache_(std::move(cache)) {
  MutexLock writing(write_mutex_);
  MutexLock lock(mutex_);
  if (cache_->origin().has_value()) seen_etcd_revision_ = cache_->origin()->etcd_revision;
}

EtcdStore::~EtcdStore() {
  {
    MutexLock lock(end_mutex_);
    is_ending_ = true;
    end_condition_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

EtcdStore::Statistics EtcdStore::statistics() const {
  MutexLock lock(mutex_);
  return statistics_;
}

std::string EtcdStore::Name() const { return ToText({options_.etcd.endpoints, options_.prefix}); }

// Reads.

absl::StatusOr<std::vector<Migration>> EtcdStore::Load() {
  MutexLock lock(mutex_);
  return internal::ReadMigrations(cache_->database());
}

absl::StatusOr<DefaultShare> EtcdStore::LoadDefaultShare() {
  MutexLock lock(mutex_);
  return internal::ReadDefaultShare(cache_->database());
}

absl::StatusOr<std::vector<MigrationChange>> EtcdStore::History(const HistoryQuery& query) {
  MutexLock lock(mutex_);
  return internal::ReadHistory(cache_->database(), query);
}

absl::StatusOr<std::vector<StoredTopology>> EtcdStore::LoadTopologies() {
  MutexLock lock(mutex_);
  return internal::ReadTopologies(cache_->database());
}

absl::StatusOr<StoreContents> EtcdStore::Export() {
  MutexLock lock(mutex_);
  return internal::ReadContents(cache_->database(), internal::kStoreSchemaVersion);
}

absl::Status EtcdStore::Check() {
  std::optional<std::string> stale = Stale();
  if (!stale.has_value()) return absl::OkStatus();
  return absl::UnavailableError(*stale);
}

std::optional<std::string> EtcdStore::Stale() {
  MutexLock lock(mutex_);
  return stale_;
}

// Writes.

absl::StatusOr<MigrationStore::Ensured> EtcdStore::EnsureExists(const NewMigration& wanted) {
  if (wanted.data_center.empty()) {
    return absl::InvalidArgumentError("a migration needs a data center");
  }
  std::optional<Migration> present;
  absl::StatusOr<std::optional<StoreChange>> change =
      Change([&](internal::SqliteDatabase& database) -> absl::StatusOr<std::optional<StoreChange>> {
        absl::StatusOr<std::optional<Migration>> found =
            internal::ReadMigration(database, wanted.data_center);
        if (!found.ok()) return found.status();
        present = *std::move(found);
        if (present.has_value()) return std::optional<StoreChange>();
        return internal::PlanCreation(database, wanted, options_.clock);
      });
  if (!change.ok()) return change.status();
  if (!change->has_value()) return Ensured{*std::move(present), false};
  return Ensured{std::move((*change)->migrations.front()), true};
}

absl::StatusOr<std::vector<Migration>> EtcdStore::Update(const MigrationUpdate& update) {
  if (absl::Status status = internal::CheckUpdate(update); !status.ok()) return status;
  absl::StatusOr<std::optional<StoreChange>> change =
      Change([&](internal::SqliteDatabase& database) {
        return internal::PlanUpdate(database, Name(), update, options_.clock);
      });
  if (!change.ok()) return change.status();
  return std::move((*change)->migrations);
}

absl::StatusOr<DefaultShare> EtcdStore::SetDefaultShare(const DefaultShareUpdate& update) {
  const absl::StatusOr<std::optional<StoreChange>> change =
      Change([&](internal::SqliteDatabase& database) {
        return internal::PlanDefaultShare(database, update, options_.clock);
      });
  if (!change.ok()) return change.status();
  return *(*change)->default_share;
}

absl::StatusOr<Migration> EtcdStore::Forget(const ForgetRequest& request) {
  Migration before;
  const absl::StatusOr<std::optional<StoreChange>> change =
      Change([&](internal::SqliteDatabase& database) -> absl::StatusOr<std::optional<StoreChange>> {
        absl::StatusOr<internal::PlannedForget> planned =
            internal::PlanForget(database, Name(), request, options_.clock);
        if (!planned.ok()) return planned.status();
        before = std::move(planned->before);
        return std::move(planned->change);
      });
  if (!change.ok()) return change.status();
  return before;
}

absl::StatusOr<Migration> EtcdStore::Rename(const RenameRequest& request) {
  if (absl::Status status = internal::CheckRename(request); !status.ok()) return status;
  absl::StatusOr<std::optional<StoreChange>> change =
      Change([&](internal::SqliteDatabase& database) {
        return internal::PlanRename(database, Name(), request, options_.clock);
      });
  if (!change.ok()) return change.status();
  return std::move((*change)->migrations.front());
}

absl::Status EtcdStore::SaveTopology(const TopologyUpdate& update) {
  if (absl::Status status = internal::CheckTopology(update); !status.ok()) return status;
  return Change([&](internal::SqliteDatabase& database) {
           return internal::PlanTopology(database, update, options_.clock);
         })
      .status();
}

absl::Status EtcdStore::Import(const StoreContents& contents) {
  if (absl::Status status = internal::CheckContents(contents); !status.ok()) return status;
  MutexLock writing(write_mutex_);
  if (absl::Status status = Synchronise({}).status(); !status.ok()) return WriteError(status);
  const absl::StatusOr<StoreContents> present = Export();
  if (!present.ok()) return present.status();
  if (*present != StoreContents()) {
    return absl::FailedPreconditionError(
        absl::StrCat("store ", Name(), " is not empty: its last revision is ",
                     present->last_revision, "; give a prefix that nothing is under"));
  }
  if (contents == StoreContents()) return absl::OkStatus();
  absl::StatusOr<EtcdCheckpoint> checkpoint = log_.WriteCheckpoint(contents);
  if (!checkpoint.ok()) return WriteError(checkpoint.status());
  checkpoint->chain = checkpoint->hash;
  EtcdHead next = head_->head;
  next.revision = contents.last_revision;
  next.chain = checkpoint->chain;
  next.log_begin = contents.last_revision + 1;
  next.log_bytes = 0;
  next.checkpoint = *std::move(checkpoint);
  const absl::StatusOr<EtcdLog::Written> written =
      log_.ReplaceHead(head_->bytes, next, std::nullopt);
  if (!written.ok()) return WriteError(written.status());
  if (absl::Status status = Synchronise({}).status(); !status.ok()) return WriteError(status);
  if (written->made || head_->head.chain == next.chain) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", Name(), " is not empty any more: another router changed it meanwhile"));
}

absl::StatusOr<std::optional<internal::StoreChange>> EtcdStore::Change(const Plan& plan) {
  MutexLock writing(write_mutex_);
  // A new leader is found within seconds; where etcd was lost before, it is not waited for.
  const steady_clock::time_point patience =
      steady_clock::now() + (Stale().has_value() ? milliseconds(0) : options_.etcd.call_timeout);
  Sent sent;
  bool is_fresh = false;
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    absl::StatusOr<std::optional<StoreChange>> planned = std::optional<StoreChange>();
    {
      MutexLock lock(mutex_);
      planned = plan(cache_->database());
    }
    if (planned.ok() && !planned->has_value()) return planned;
    absl::Status error;
    // What others changed a moment ago may not have come yet: that decides whether it is refused.
    if (!head_.has_value() || (!planned.ok() && !is_fresh)) {
      absl::StatusOr<std::optional<StoreChange>> made = Synchronise(sent);
      if (made.ok() && made->has_value()) return made;
      is_fresh = made.ok();
      error = made.status();
    } else if (!planned.ok()) {
      return planned.status();
    } else {
      absl::StatusOr<std::optional<StoreChange>> made = Send(**std::move(planned), sent);
      if (made.ok() && made->has_value()) return made;
      is_fresh = made.ok();
      error = made.status();
    }
    if (!error.ok() && (!absl::IsUnavailable(error) || steady_clock::now() >= patience)) {
      return WriteError(error);
    }
    // Routers that are refused together do not try again together.
    if (!error.ok() || attempt > 1) {
      std::this_thread::sleep_for(milliseconds(RandomNumber() % 10 + (error.ok() ? 0 : 50)));
    }
  }
  return absl::UnavailableError(absl::StrCat("store ", Name(), ": other routers changed it ",
                                             kMaxAttempts, " times meanwhile; try again"));
}

absl::StatusOr<std::optional<internal::StoreChange>> EtcdStore::Send(StoreChange change,
                                                                     Sent& sent) {
  EtcdLog::Record record;
  record.revision = change.revision;
  record.bytes = EncodeEtcdRecord(change, head_->head.chain, RandomNumber());
  record.chain = EtcdHash(record.bytes);
  EtcdHead next = head_->head;
  next.revision = change.revision;
  next.chain = record.chain;
  next.log_bytes += static_cast<std::int64_t>(record.bytes.size());
  sent.emplace(record.chain, change);
  const absl::StatusOr<EtcdLog::Written> written = log_.ReplaceHead(head_->bytes, next, record);
  // Lost on the way there or back: etcd knows which.
  if (!written.ok() && !absl::IsUnavailable(written.status())) return written.status();
  if (!written.ok() || !written->made) {
    absl::StatusOr<std::optional<StoreChange>> made = Synchronise(sent);
    if (written.ok() || (made.ok() && made->has_value())) return made;
    return absl::UnavailableError(
        absl::StrCat(std::string(written.status().message()),
                     "; whether the change was made is not known: look before you try again"));
  }
  seen_etcd_revision_ = std::max(seen_etcd_revision_, written->etcd_revision);
  const EtcdOrigin origin{written->cluster_id, next.store_id, next.revision, next.chain,
                          written->etcd_revision};
  absl::Status cached;
  {
    MutexLock lock(mutex_);
    cached = cache_->Apply({&change, 1}, origin);
  }
  if (cached.ok()) {
    own_chain_ = next.chain;
    head_ = KnownHead{EncodeEtcdHead(next), std::move(next)};
  } else {
    // The change is made all the same. What is planned next has to read it first.
    head_.reset();
    SetStale(std::string(cached.message()));
  }
  return std::optional<StoreChange>(std::move(change));
}

absl::Status EtcdStore::WriteError(const absl::Status& status) const {
  if (!absl::IsUnavailable(status) && !absl::IsResourceExhausted(status)) return status;
  return absl::UnavailableError(
      absl::StrCat("store ", Name(), " cannot be changed now: ", std::string(status.message()),
                   "; routing goes on; see to etcd and try again"));
}

// What etcd has.

absl::StatusOr<std::optional<internal::StoreChange>> EtcdStore::Synchronise(const Sent& sent) {
  absl::StatusOr<std::optional<StoreChange>> made = TrySynchronise(sent);
  for (int i = 1; i < kMaxReads && absl::IsOutOfRange(made.status()); ++i) {
    made = TrySynchronise(sent);
  }
  if (made.ok()) {
    SetStale(std::nullopt);
  } else {
    head_.reset();
    SetStale(std::string(made.status().message()));
  }
  return made;
}

absl::Status EtcdStore::CheckOrigin(const EtcdLog::Snapshot& snapshot,
                                    const std::optional<EtcdHead>& head) const {
  MutexLock lock(mutex_);
  const std::optional<EtcdOrigin>& origin = cache_->origin();
  if (!origin.has_value()) {
    if (head.has_value()) return absl::OkStatus();
    return absl::NotFoundError(
        absl::StrCat("etcd has no store at ", Name(),
                     "; mend the address or the prefix, restore a backup, or, "
                     "if there never was one, start once without --store-must-exist"));
  }
  std::string what;
  if (snapshot.cluster_id != origin->cluster_id) {
    what = absl::StrCat("is another cluster, ", absl::Hex(snapshot.cluster_id), ", not ",
                        absl::Hex(origin->cluster_id));
  } else if (!head.has_value()) {
    what = absl::StrCat("has no store under ", options_.prefix);
  } else if (head->store_id != origin->store_id) {
    what = absl::StrCat("has another store under ", options_.prefix, ", ", ToHex(head->store_id),
                        ", not ", ToHex(origin->store_id));
  } else {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "etcd at ", client_->EndpointNames(), " ", what, ", which the cache ",
      internal::QuotePath(options_.cache_path), " knows up to revision ", origin->revision,
      "; mend the address, or restore etcd from a backup; if etcd is right, remove the cache and "
      "restart the router"));
}

absl::StatusOr<std::optional<internal::StoreChange>> EtcdStore::TrySynchronise(const Sent& sent) {
  std::optional<EtcdOrigin> origin;
  {
    MutexLock lock(mutex_);
    origin = cache_->origin();
  }
  const std::int64_t known = origin.has_value() ? origin->revision : 0;
  absl::StatusOr<EtcdLog::Snapshot> snapshot = log_.Read(known + 1);
  if (!snapshot.ok()) return snapshot.status();
  std::optional<EtcdHead> head;
  if (snapshot->head.has_value()) {
    absl::StatusOr<EtcdHead> decoded = DecodeEtcdHead(*snapshot->head);
    if (!decoded.ok()) return decoded.status();
    head = *std::move(decoded);
  }
  if (absl::Status status = CheckOrigin(*snapshot, head); !status.ok()) return status;

  // What the cache has is a part of this history: then only what came since is new.
  bool goes_on = origin.has_value() && head->revision >= known && known + 1 >= head->log_begin;
  // The store, or etcd, is not as it was known to be.
  bool went_back = snapshot->etcd_revision < seen_etcd_revision_ ||
                   (origin.has_value() && head->revision < known);
  EtcdLog::Chain chain;
  if (goes_on) {
    absl::StatusOr<EtcdLog::Chain> records = log_.Records(*snapshot, *head, known + 1);
    if (!records.ok()) return records.status();
    chain = *std::move(records);
    goes_on = chain.previous == origin->chain;
    went_back = went_back || !goes_on;
  }
  std::optional<StoreContents> contents;
  if (!goes_on) {
    absl::StatusOr<StoreContents> read =
        log_.ReadCheckpoint(head->checkpoint, snapshot->etcd_revision);
    if (!read.ok()) return read.status();
    contents = *std::move(read);
    absl::StatusOr<std::map<std::string, std::string>> parts =
        log_.ReadRecords(head->checkpoint.revision + 1, snapshot->etcd_revision);
    if (!parts.ok()) return parts.status();
    snapshot->parts = *std::move(parts);
    absl::StatusOr<EtcdLog::Chain> records =
        log_.Records(*snapshot, *head, head->checkpoint.revision + 1);
    if (!records.ok()) return records.status();
    chain = *std::move(records);
    if (chain.previous != head->checkpoint.chain) {
      return absl::DataLossError(absl::StrCat("the log of store ", Name(),
                                              " does not go on from its checkpoint; restore etcd "
                                              "from a backup"));
    }
  }

  std::optional<StoreChange> made;
  std::vector<StoreChange> changes;
  std::size_t of_others = 0;
  for (EtcdLog::Link& link : chain.links) {
    if (sent.contains(link.chain)) {
      made = link.change;
    } else {
      ++of_others;
    }
    changes.push_back(std::move(link.change));
  }
  const bool is_trimmed = head_.has_value() && head_->head.checkpoint == head->checkpoint;
  {
    MutexLock lock(mutex_);
    const EtcdOrigin now{snapshot->cluster_id, head->store_id, head->revision, head->chain,
                         snapshot->etcd_revision};
    absl::Status cached;
    if (contents.has_value()) {
      cached = cache_->Replace(*contents, changes, now);
      ++statistics_.full_reads;
    } else if (!changes.empty() || went_back) {
      cached = cache_->Apply(changes, now);
    }
    if (cached.ok() && !is_trimmed) cached = cache_->TrimHistory(options_.max_history_rows);
    if (!cached.ok()) return cached;
    if (went_back) ++statistics_.revision_regressions;
  }
  seen_etcd_revision_ = snapshot->etcd_revision;
  head_ = KnownHead{*std::move(snapshot->head), *std::move(head)};
  if (contents.has_value() || of_others > 0) Notify();
  return made;
}

absl::Status EtcdStore::CreateStore() {
  EtcdHead head;
  head.store_id = RandomBytes();
  head.chain = head.store_id;
  head.checkpoint.chain = head.store_id;
  const absl::StatusOr<EtcdLog::Written> written =
      log_.ReplaceHead(std::nullopt, head, std::nullopt);
  if (!written.ok()) return written.status();
  // Where another router was faster, it is that one's.
  absl::Status status = Synchronise({}).status();
  created_ = status.ok() && head_->head.store_id == head.store_id;
  return status;
}

// Checkpoints.

bool EtcdStore::IsCheckpointDue() const {
  // Whoever made the last change sees to it, so that not all routers do.
  if (!head_.has_value() || head_->head.chain != own_chain_) return false;
  const EtcdHead& head = head_->head;
  return head.revision - head.checkpoint.revision >= options_.max_log_records ||
         head.log_bytes >= std::max(options_.max_log_bytes, head.checkpoint.bytes);
}

absl::Status EtcdStore::WriteCheckpoint() {
  StoreContents contents;
  EtcdOrigin origin;
  {
    MutexLock lock(mutex_);
    origin = *cache_->origin();
    absl::Status status = cache_->TrimHistory(options_.max_history_rows);
    if (!status.ok()) return status;
    absl::StatusOr<StoreContents> read =
        internal::ReadContents(cache_->database(), internal::kStoreSchemaVersion);
    if (!read.ok()) return read.status();
    contents = *std::move(read);
  }
  // Changes go on meanwhile.
  absl::StatusOr<EtcdCheckpoint> checkpoint = log_.WriteCheckpoint(contents);
  if (!checkpoint.ok()) return checkpoint.status();
  checkpoint->chain = origin.chain;

  MutexLock writing(write_mutex_);
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    const absl::StatusOr<EtcdLog::Snapshot> snapshot = log_.Read(origin.revision + 1);
    if (!snapshot.ok()) return snapshot.status();
    if (!snapshot->head.has_value()) return absl::OkStatus();
    const absl::StatusOr<EtcdHead> head = DecodeEtcdHead(*snapshot->head);
    if (!head.ok()) return head.status();
    // Somebody else wrote one, or the store went back: this one is not wanted any more.
    if (head->store_id != origin.store_id || head->checkpoint.revision >= checkpoint->revision) {
      return absl::OkStatus();
    }
    const absl::StatusOr<EtcdLog::Chain> records =
        log_.Records(*snapshot, *head, origin.revision + 1);
    if (!records.ok()) return records.status();
    if (records->previous != origin.chain) return absl::OkStatus();

    EtcdHead next = *head;
    // Those who are a little behind need no more than the records.
    next.log_begin = head->checkpoint.revision + 1;
    next.log_bytes = 0;
    for (const auto& [key, part] : snapshot->parts) {
      next.log_bytes += static_cast<std::int64_t>(part.size());
    }
    next.checkpoint = *checkpoint;
    const absl::StatusOr<EtcdLog::Written> written =
        log_.ReplaceHead(*snapshot->head, next, std::nullopt);
    if (!written.ok()) return written.status();
    if (!written->made) continue;
    {
      MutexLock lock(mutex_);
      ++statistics_.checkpoints;
    }
    if (absl::Status status = Synchronise({}).status(); !status.ok()) return status;
    return log_.DropOld(next);
  }
  return absl::OkStatus();
}

// Following.

void EtcdStore::SetStale(std::optional<std::string> reason) {
  MutexLock lock(mutex_);
  stale_ = std::move(reason);
}

void EtcdStore::SetListener(std::function<void()> listener) {
  MutexLock lock(listener_mutex_);
  listener_ = std::move(listener);
}

void EtcdStore::Notify() {
  MutexLock lock(listener_mutex_);
  if (listener_) listener_();
}

bool EtcdStore::WaitFor(milliseconds time) {
  const steady_clock::time_point deadline = steady_clock::now() + time;
  MutexLock lock(end_mutex_);
  while (!is_ending_ && end_condition_.WaitUntil(end_mutex_, deadline)) {
  }
  return !is_ending_;
}

bool EtcdStore::IsEnding() {
  MutexLock lock(end_mutex_);
  return is_ending_;
}

void EtcdStore::Follow() {
  milliseconds retry = kMinRetry;
  while (!IsEnding()) {
    absl::Status status;
    std::int64_t etcd_revision = 0;
    {
      MutexLock writing(write_mutex_);
      status = Synchronise({}).status();
      etcd_revision = seen_etcd_revision_;
    }
    if (status.ok()) {
      retry = kMinRetry;
      FollowWatch(etcd_revision);
    }
    if (!WaitFor(retry)) return;
    if (!status.ok()) retry = std::min(2 * retry, kMaxRetry);
  }
}

void EtcdStore::FollowWatch(std::int64_t etcd_revision) {
  EtcdWatch watch(*client_, log_.HeadKey(), etcd_revision + 1);
  const std::int64_t regressions = statistics().revision_regressions;
  steady_clock::time_point next_check = steady_clock::now() + options_.check_period;
  while (!IsEnding()) {
    bool is_due = false;
    {
      MutexLock writing(write_mutex_);
      is_due = IsCheckpointDue();
    }
    // One that fails is tried again with the next change, or check.
    if (is_due) WriteCheckpoint().IgnoreError();
    const absl::StatusOr<std::vector<etcdserverpb::Event>> events =
        watch.Next(next_check, [this](milliseconds time) { return WaitFor(time); });
    if (!events.ok()) {
      MutexLock lock(mutex_);
      ++statistics_.lost_watches;
      return;
    }
    if (IsEnding()) return;
    MutexLock writing(write_mutex_);
    const bool is_known = !events->empty() && head_.has_value() &&
                          events->back().type() == etcdserverpb::Event::PUT &&
                          events->back().kv().value() == head_->bytes;
    if (is_known) continue;
    if (!Synchronise({}).ok()) return;
    if (statistics().revision_regressions != regressions) return;
    next_check = steady_clock::now() + options_.check_period;
  }
}

}  // namespace ringshift
