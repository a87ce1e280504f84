#include "migration/etcd/etcd_state.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/delimited_message_util.h>
#include <xxhash.h>

#include <chrono>
#include <limits>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"
#include "migration/internal/store_contents.h"
#include "state.pb.h"

namespace ringshift {
namespace {

using google::protobuf::MessageLite;
using internal::StoreChange;

constexpr int kFormat = 1;
constexpr std::size_t kHashBytes = 16;

absl::Status Damaged(const std::string& what) {
  return absl::DataLossError(absl::StrCat(
      "what etcd holds of the store makes no sense: ", what,
      "; restore etcd from a backup, or import a router's cache into an empty prefix"));
}

std::int64_t ToMicros(WallTime time) { return time.time_since_epoch().count(); }
WallTime FromMicros(std::int64_t micros) { return WallTime(std::chrono::microseconds(micros)); }

bool Parse(MessageLite& message, std::string_view bytes) {
  return bytes.size() <= static_cast<std::size_t>(std::numeric_limits<int>::max()) &&
         message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

etcd::MigrationRow Encode(const Migration& migration) {
  etcd::MigrationRow row;
  row.set_data_center(migration.data_center);
  row.set_v2_ppm(migration.share.ppm());
  row.set_salt(migration.salt);
  row.set_decision_algorithm(migration.decision_algorithm);
  row.set_revision(migration.revision);
  row.set_update_time_us(ToMicros(migration.update_time));
  row.set_actor(migration.actor);
  row.set_reason(migration.reason);
  row.set_share_time_us(ToMicros(migration.share_time));
  row.set_is_frozen(migration.is_frozen);
  row.set_retired_ring(static_cast<int>(migration.retired));
  row.set_answers(migration.answers.ToText());
  return row;
}

absl::StatusOr<Migration> Decode(const etcd::MigrationRow& row) {
  const std::string what =
      absl::StrCat("the migration of ", internal::Quote(row.data_center()), ": ");
  const absl::StatusOr<Share> share = Share::FromPpm(row.v2_ppm());
  if (!share.ok()) return Damaged(what + std::string(share.status().message()));
  absl::StatusOr<AnswerHistory> answers = AnswerHistory::Parse(row.answers());
  if (!answers.ok()) return Damaged(what + std::string(answers.status().message()));
  if (row.data_center().empty() || row.decision_algorithm().empty() || row.revision() < 1) {
    return Damaged(what + "a value is missing");
  }
  if (row.retired_ring() < 0 || row.retired_ring() > static_cast<int>(RetiredRing::kV2)) {
    return Damaged(absl::StrCat(what, "retired ring ", row.retired_ring(), " is not 0 to 2"));
  }
  return Migration{row.data_center(),
                   *share,
                   row.salt(),
                   row.decision_algorithm(),
                   row.revision(),
                   FromMicros(row.update_time_us()),
                   row.actor(),
                   row.reason(),
                   FromMicros(row.share_time_us()),
                   row.is_frozen(),
                   static_cast<RetiredRing>(row.retired_ring()),
                   *std::move(answers)};
}

etcd::TopologyRow Encode(const StoredTopology& topology) {
  etcd::TopologyRow row;
  row.set_data_center(topology.data_center);
  row.set_text(topology.text);
  for (const NodeChange& change : topology.node_changes) {
    etcd::NodeChangeRow& node = *row.add_node_changes();
    node.set_node(change.node);
    node.set_time_us(ToMicros(change.time));
    node.set_before(change.before);
  }
  row.set_revision(topology.revision);
  row.set_update_time_us(ToMicros(topology.update_time));
  row.set_actor(topology.actor);
  row.set_reason(topology.reason);
  return row;
}

absl::StatusOr<StoredTopology> Decode(const etcd::TopologyRow& row) {
  if (row.data_center().empty() || row.revision() < 1) {
    return Damaged(absl::StrCat("the topology of ", internal::Quote(row.data_center()),
                                " has no name or revision"));
  }
  StoredTopology topology{
      row.data_center(), row.text(),  {}, row.revision(), FromMicros(row.update_time_us()),
      row.actor(),       row.reason()};
  for (const etcd::NodeChangeRow& node : row.node_changes()) {
    topology.node_changes.push_back({node.node(), FromMicros(node.time_us()), node.before()});
  }
  return topology;
}

etcd::ChangeRow Encode(const MigrationChange& change) {
  etcd::ChangeRow row;
  row.set_revision(change.revision);
  row.set_time_us(ToMicros(change.time));
  row.set_data_center(change.data_center);
  row.set_kind(static_cast<int>(change.kind));
  row.set_actor(change.actor);
  row.set_reason(change.reason);
  if (change.from.has_value()) row.set_from_ppm(change.from->ppm());
  if (change.to.has_value()) row.set_to_ppm(change.to->ppm());
  row.set_detail(change.detail);
  return row;
}

absl::StatusOr<MigrationChange> Decode(const etcd::ChangeRow& row) {
  const std::string what = absl::StrCat("the history has at revision ", row.revision(), " ");
  std::optional<Share> from;
  std::optional<Share> to;
  for (const auto& [has, ppm, share] : {std::tuple(row.has_from_ppm(), row.from_ppm(), &from),
                                        std::tuple(row.has_to_ppm(), row.to_ppm(), &to)}) {
    if (!has) continue;
    const absl::StatusOr<Share> read = Share::FromPpm(ppm);
    if (!read.ok()) return Damaged(what + std::string(read.status().message()));
    *share = *read;
  }
  constexpr int kLastKind = static_cast<int>(ChangeKind::kDefaultShare);
  if (row.revision() < 1 || row.kind() < 1 || row.kind() > kLastKind ||
      !internal::ChangeFits(static_cast<ChangeKind>(row.kind()), row.data_center(),
                            from.has_value(), to.has_value())) {
    return Damaged(absl::StrCat(what, "a change of kind ", row.kind(),
                                " that does not have what that must have"));
  }
  return MigrationChange{row.revision(),
                         FromMicros(row.time_us()),
                         row.data_center(),
                         static_cast<ChangeKind>(row.kind()),
                         row.actor(),
                         row.reason(),
                         from,
                         to,
                         row.detail()};
}

etcd::DefaultShareRow Encode(const DefaultShare& share) {
  etcd::DefaultShareRow row;
  row.set_v2_ppm(share.share.ppm());
  row.set_revision(share.revision);
  return row;
}

absl::StatusOr<DefaultShare> Decode(const etcd::DefaultShareRow& row) {
  const absl::StatusOr<Share> share = Share::FromPpm(row.v2_ppm());
  if (!share.ok()) {
    return Damaged(absl::StrCat("the default share: ", std::string(share.status().message())));
  }
  return DefaultShare{*share, row.revision()};
}

// Decodes all of `rows` into `values`.
template <typename Rows, typename Value>
absl::Status DecodeAll(const Rows& rows, std::vector<Value>& values) {
  for (const auto& row : rows) {
    absl::StatusOr<Value> value = Decode(row);
    if (!value.ok()) return value.status();
    values.push_back(*std::move(value));
  }
  return absl::OkStatus();
}

void AppendRow(const etcd::CheckpointRow& row, std::string& bytes) {
  const std::string row_bytes = row.SerializeAsString();
  std::uint8_t size[10];
  const std::uint8_t* const end =
      google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(row_bytes.size(), size);
  bytes.append(reinterpret_cast<const char*>(size), static_cast<std::size_t>(end - size));
  bytes += row_bytes;
}

template <typename Row, typename Value>
absl::Status DecodeInto(const Row& row, std::vector<Value>& values) {
  absl::StatusOr<Value> value = Decode(row);
  if (!value.ok()) return value.status();
  values.push_back(*std::move(value));
  return absl::OkStatus();
}

absl::Status AddRow(const etcd::CheckpointRow& row, StoreContents& contents) {
  switch (row.row_case()) {
    case etcd::CheckpointRow::kMigration:
      return DecodeInto(row.migration(), contents.migrations);
    case etcd::CheckpointRow::kTopology:
      return DecodeInto(row.topology(), contents.topologies);
    case etcd::CheckpointRow::kChange:
      return DecodeInto(row.change(), contents.history);
    case etcd::CheckpointRow::kDefaultShare: {
      const absl::StatusOr<DefaultShare> share = Decode(row.default_share());
      if (share.ok()) contents.default_share = *share;
      return share.status();
    }
    case etcd::CheckpointRow::ROW_NOT_SET:
      break;
  }
  return Damaged("a row of the checkpoint is of no known kind");
}

}  // namespace

std::string EncodeEtcdHead(const EtcdHead& head) {
  etcd::Head message;
  message.set_format(kFormat);
  message.set_store_id(head.store_id);
  message.set_revision(head.revision);
  message.set_chain(head.chain);
  message.set_log_begin(head.log_begin);
  message.set_log_bytes(head.log_bytes);
  etcd::Checkpoint& checkpoint = *message.mutable_checkpoint();
  checkpoint.set_id(head.checkpoint.id);
  checkpoint.set_part_count(head.checkpoint.part_count);
  checkpoint.set_revision(head.checkpoint.revision);
  checkpoint.set_chain(head.checkpoint.chain);
  checkpoint.set_hash(head.checkpoint.hash);
  checkpoint.set_bytes(head.checkpoint.bytes);
  return message.SerializeAsString();
}

absl::StatusOr<EtcdHead> DecodeEtcdHead(std::string_view bytes) {
  etcd::Head message;
  if (!Parse(message, bytes) || message.format() < 1) {
    return Damaged("its head is not one that a router writes");
  }
  if (message.format() > kFormat) {
    return absl::FailedPreconditionError(
        absl::StrCat("the store in etcd has format ", message.format(),
                     ", this program knows up to ", kFormat, "; run the newer program"));
  }
  const etcd::Checkpoint& checkpoint = message.checkpoint();
  if (message.store_id().size() != kHashBytes || message.chain().size() != kHashBytes ||
      checkpoint.chain().size() != kHashBytes || message.revision() < checkpoint.revision() ||
      checkpoint.revision() < 0 || checkpoint.part_count() < 0 || message.log_begin() < 1 ||
      message.log_begin() > checkpoint.revision() + 1) {
    return Damaged("its head has a value that is missing or out of range");
  }
  return EtcdHead{message.store_id(),
                  message.revision(),
                  message.chain(),
                  message.log_begin(),
                  message.log_bytes(),
                  {checkpoint.id(), checkpoint.part_count(), checkpoint.revision(),
                   checkpoint.chain(), checkpoint.hash(), checkpoint.bytes()}};
}

std::string EncodeEtcdRecord(const StoreChange& change, const std::string& previous_chain,
                             std::uint64_t nonce) {
  etcd::Record record;
  record.set_revision(change.revision);
  record.set_previous_chain(previous_chain);
  record.set_nonce(nonce);
  for (const std::string& data_center : change.erased) record.add_erased(data_center);
  for (const Migration& migration : change.migrations) {
    *record.add_migrations() = Encode(migration);
  }
  for (const StoredTopology& topology : change.topologies) {
    *record.add_topologies() = Encode(topology);
  }
  for (const std::string& data_center : change.dropped_topologies) {
    record.add_dropped_topologies(data_center);
  }
  if (change.default_share.has_value()) {
    *record.mutable_default_share() = Encode(*change.default_share);
  }
  for (const MigrationChange& row : change.history) *record.add_history() = Encode(row);
  return record.SerializeAsString();
}

absl::StatusOr<EtcdRecord> DecodeEtcdRecord(std::string_view bytes) {
  etcd::Record record;
  if (!Parse(record, bytes) || record.revision() < 1 ||
      record.previous_chain().size() != kHashBytes) {
    return Damaged("a record of its log is not one that a router writes");
  }
  EtcdRecord decoded{record.previous_chain(), {}};
  StoreChange& change = decoded.change;
  change.revision = record.revision();
  change.erased.assign(record.erased().begin(), record.erased().end());
  change.dropped_topologies.assign(record.dropped_topologies().begin(),
                                   record.dropped_topologies().end());
  absl::Status status = DecodeAll(record.migrations(), change.migrations);
  if (status.ok()) status = DecodeAll(record.topologies(), change.topologies);
  if (status.ok()) status = DecodeAll(record.history(), change.history);
  if (status.ok() && record.has_default_share()) {
    const absl::StatusOr<DefaultShare> share = Decode(record.default_share());
    if (share.ok()) change.default_share = *share;
    status = share.status();
  }
  if (!status.ok()) return status;
  return decoded;
}

std::string EtcdHash(std::string_view bytes) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  return std::string(reinterpret_cast<const char*>(canonical.digest), sizeof(canonical.digest));
}

std::string ToHex(std::string_view bytes) {
  return absl::BytesToHexString(absl::string_view(bytes.data(), bytes.size()));
}

std::string FromHex(std::string_view digits) {
  return absl::HexStringToBytes(absl::string_view(digits.data(), digits.size()));
}

std::string RandomBytes() {
  std::random_device device;
  std::string bytes(kHashBytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(device() & 0xFF);
  return bytes;
}

std::string EncodeEtcdContents(const StoreContents& contents) {
  std::string bytes;
  etcd::CheckpointRow row;
  *row.mutable_default_share() = Encode(contents.default_share);
  AppendRow(row, bytes);
  for (const Migration& migration : contents.migrations) {
    *row.mutable_migration() = Encode(migration);
    AppendRow(row, bytes);
  }
  for (const StoredTopology& topology : contents.topologies) {
    *row.mutable_topology() = Encode(topology);
    AppendRow(row, bytes);
  }
  for (const MigrationChange& change : contents.history) {
    *row.mutable_change() = Encode(change);
    AppendRow(row, bytes);
  }
  return bytes;
}

absl::StatusOr<StoreContents> DecodeEtcdContents(std::string_view bytes,
                                                 std::int64_t last_revision) {
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return Damaged("its checkpoint has more than 2 GiB");
  }
  google::protobuf::io::ArrayInputStream stream(bytes.data(), static_cast<int>(bytes.size()));
  StoreContents contents;
  contents.last_revision = last_revision;
  etcd::CheckpointRow row;
  for (bool at_end = false;;) {
    row.Clear();
    if (!google::protobuf::util::ParseDelimitedFromZeroCopyStream(&row, &stream, &at_end)) {
      if (at_end) break;
      return Damaged("its checkpoint has a row that is cut off");
    }
    if (absl::Status status = AddRow(row, contents); !status.ok()) return status;
  }
  const absl::Status status = internal::CheckContents(contents);
  if (!status.ok()) return Damaged(std::string(status.message()));
  return contents;
}

}  // namespace ringshift
