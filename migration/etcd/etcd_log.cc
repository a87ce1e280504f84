#include "migration/etcd/etcd_log.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

using etcdserverpb::RangeRequest;
using etcdserverpb::RangeResponse;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;

constexpr std::int64_t kKeysPerCall = 64;  // of up to kEtcdPartBytes each

std::string Hex(std::int64_t number) { return absl::StrCat(absl::Hex(number, absl::kZeroPad16)); }
std::string PartKey(const std::string& begin, std::size_t part) {
  return absl::StrCat(begin, "/", absl::Hex(part, absl::kZeroPad8));
}

std::size_t PartCount(std::string_view bytes) {
  return std::max<std::size_t>(1, (bytes.size() + kEtcdPartBytes - 1) / kEtcdPartBytes);
}
std::string_view Part(std::string_view bytes, std::size_t part) {
  return bytes.substr(part * kEtcdPartBytes, kEtcdPartBytes);
}

etcdserverpb::PutRequest PutOf(std::string key, std::string_view value) {
  etcdserverpb::PutRequest request;
  request.set_key(std::move(key));
  request.set_value(std::string(value));
  return request;
}

absl::Status Damaged(const std::string& what) {
  return absl::DataLossError(
      absl::StrCat("etcd holds the store no more: ", what, "; restore etcd from a backup"));
}

absl::Status Strange(const char* what) {
  return absl::UnavailableError(absl::StrCat("etcd answered with ", what));
}

}  // namespace

std::string EtcdLog::LogKey(std::int64_t revision) const {
  return absl::StrCat(prefix_, "log/", Hex(revision));
}

RangeRequest EtcdLog::LogRange(std::int64_t first_revision) const {
  RangeRequest range;
  range.set_key(LogKey(first_revision));
  range.set_range_end(LogKey(std::numeric_limits<std::int64_t>::max()));
  range.set_limit(kKeysPerCall);
  return range;
}

absl::Status EtcdLog::ReadPages(RangeResponse page, RangeRequest range, std::int64_t etcd_revision,
                                std::map<std::string, std::string>& parts) {
  range.set_revision(etcd_revision);
  for (;;) {
    for (etcdserverpb::KeyValue& kv : *page.mutable_kvs()) {
      parts[std::move(*kv.mutable_key())] = std::move(*kv.mutable_value());
    }
    if (!page.more() || parts.empty()) return absl::OkStatus();
    range.set_key(parts.rbegin()->first + '\0');
    absl::StatusOr<RangeResponse> next = client_.Range(range);
    if (!next.ok()) return next.status();
    page = *std::move(next);
  }
}

absl::StatusOr<EtcdLog::Snapshot> EtcdLog::Read(std::int64_t first_revision) {
  TxnRequest request;
  request.add_success()->mutable_request_range()->set_key(HeadKey());
  const RangeRequest log = LogRange(first_revision);
  *request.add_success()->mutable_request_range() = log;
  absl::StatusOr<TxnResponse> response = client_.Txn(request);
  if (!response.ok()) return response.status();
  if (response->responses_size() != 2) return Strange("too few answers in a transaction");

  Snapshot snapshot;
  snapshot.cluster_id = response->header().cluster_id();
  snapshot.etcd_revision = response->header().revision();
  RangeResponse& head = *response->mutable_responses(0)->mutable_response_range();
  if (head.kvs_size() > 0) snapshot.head = std::move(*head.mutable_kvs(0)->mutable_value());
  absl::Status status =
      ReadPages(std::move(*response->mutable_responses(1)->mutable_response_range()), log,
                snapshot.etcd_revision, snapshot.parts);
  if (!status.ok()) return status;
  return snapshot;
}

absl::StatusOr<std::map<std::string, std::string>> EtcdLog::ReadRecords(
    std::int64_t first_revision, std::int64_t etcd_revision) {
  RangeRequest range = LogRange(first_revision);
  range.set_revision(etcd_revision);
  absl::StatusOr<RangeResponse> page = client_.Range(range);
  if (!page.ok()) return page.status();
  std::map<std::string, std::string> parts;
  absl::Status status = ReadPages(*std::move(page), std::move(range), etcd_revision, parts);
  if (!status.ok()) return status;
  return parts;
}

absl::StatusOr<EtcdLog::Chain> EtcdLog::Records(const Snapshot& snapshot, const EtcdHead& head,
                                                std::int64_t first_revision) const {
  Chain chain{head.chain, {}};
  for (std::int64_t revision = head.revision; revision >= first_revision; --revision) {
    const std::string begin = absl::StrCat(LogKey(revision), "/", ToHex(chain.previous), "/");
    std::string bytes;
    for (auto it = snapshot.parts.lower_bound(begin);
         it != snapshot.parts.end() && it->first.starts_with(begin); ++it) {
      bytes += it->second;
    }
    if (EtcdHash(bytes) != chain.previous) {
      return Damaged(absl::StrCat("the record of revision ", revision, " is missing or damaged"));
    }
    absl::StatusOr<EtcdRecord> record = DecodeEtcdRecord(bytes);
    if (!record.ok()) return record.status();
    if (record->change.revision != revision) {
      return Damaged(absl::StrCat("the record of revision ", revision, " is one of ",
                                  record->change.revision));
    }
    chain.links.push_back({std::move(chain.previous), std::move(record->change)});
    chain.previous = std::move(record->previous_chain);
  }
  std::reverse(chain.links.begin(), chain.links.end());
  return chain;
}

absl::StatusOr<StoreContents> EtcdLog::ReadCheckpoint(const EtcdCheckpoint& checkpoint,
                                                      std::int64_t etcd_revision) {
  if (checkpoint.part_count == 0) return StoreContents();
  const std::string begin = absl::StrCat(prefix_, "checkpoint/", checkpoint.id);
  std::string bytes;
  int parts = 0;
  RangeRequest request;
  request.set_key(begin + "/");
  request.set_range_end(begin + "0");  // what comes behind '/'
  request.set_limit(kKeysPerCall);
  request.set_revision(etcd_revision);
  for (bool more = true; more;) {
    const absl::StatusOr<RangeResponse> page = client_.Range(request);
    if (!page.ok()) return page.status();
    for (const etcdserverpb::KeyValue& kv : page->kvs()) {
      bytes += kv.value();
      ++parts;
    }
    more = page->more() && page->kvs_size() > 0;
    if (more) request.set_key(page->kvs(page->kvs_size() - 1).key() + '\0');
  }
  if (parts != checkpoint.part_count || EtcdHash(bytes) != checkpoint.hash) {
    return Damaged(absl::StrCat("the checkpoint of revision ", checkpoint.revision, " has ", parts,
                                " of ", checkpoint.part_count, " parts, or is damaged"));
  }
  return DecodeEtcdContents(bytes, checkpoint.revision);
}

absl::StatusOr<EtcdLog::Written> EtcdLog::ReplaceHead(const std::optional<std::string>& expected,
                                                      const EtcdHead& next,
                                                      const std::optional<Record>& record) {
  TxnRequest request;
  etcdserverpb::Compare& compare = *request.add_compare();
  compare.set_key(HeadKey());
  // The bytes and not etcd's revision of them, which comes again after a restore from a backup.
  if (expected.has_value()) {
    compare.set_target(etcdserverpb::Compare::VALUE);
    compare.set_value(*expected);
  } else {
    compare.set_target(etcdserverpb::Compare::CREATE);
    compare.set_create_revision(0);
  }
  if (record.has_value()) {
    const std::string begin = absl::StrCat(LogKey(record->revision), "/", ToHex(record->chain));
    const std::size_t last = PartCount(record->bytes) - 1;
    for (std::size_t part = 0; part < last; ++part) {
      absl::Status status = client_.Put(PutOf(PartKey(begin, part), Part(record->bytes, part)));
      if (!status.ok()) return status;
    }
    *request.add_success()->mutable_request_put() =
        PutOf(PartKey(begin, last), Part(record->bytes, last));
  }
  *request.add_success()->mutable_request_put() = PutOf(HeadKey(), EncodeEtcdHead(next));
  const absl::StatusOr<TxnResponse> response = client_.Txn(request);
  if (!response.ok()) return response.status();
  return Written{response->succeeded(), response->header().cluster_id(),
                 response->header().revision()};
}

absl::StatusOr<EtcdCheckpoint> EtcdLog::WriteCheckpoint(const StoreContents& contents) {
  const std::string bytes = EncodeEtcdContents(contents);
  const std::size_t parts = PartCount(bytes);
  if (parts > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return absl::ResourceExhaustedError(
        absl::StrCat("a checkpoint of ", bytes.size(), " bytes is too large"));
  }
  EtcdCheckpoint checkpoint;
  checkpoint.id = absl::StrCat(Hex(contents.last_revision), "-", ToHex(RandomBytes()));
  checkpoint.part_count = static_cast<int>(parts);
  checkpoint.revision = contents.last_revision;
  checkpoint.hash = EtcdHash(bytes);
  checkpoint.bytes = static_cast<std::int64_t>(bytes.size());
  const std::string begin = absl::StrCat(prefix_, "checkpoint/", checkpoint.id);
  for (std::size_t part = 0; part < parts; ++part) {
    absl::Status status = client_.Put(PutOf(PartKey(begin, part), Part(bytes, part)));
    if (!status.ok()) return status;
  }
  return checkpoint;
}

absl::Status EtcdLog::DropOld(const EtcdHead& head) {
  TxnRequest request;
  etcdserverpb::DeleteRangeRequest& log = *request.add_success()->mutable_request_delete_range();
  log.set_key(LogKey(0));
  log.set_range_end(LogKey(head.log_begin));
  etcdserverpb::DeleteRangeRequest& old = *request.add_success()->mutable_request_delete_range();
  old.set_key(prefix_ + "checkpoint/");
  old.set_range_end(absl::StrCat(prefix_, "checkpoint/", head.checkpoint.id));
  const absl::StatusOr<TxnResponse> response = client_.Txn(request);
  if (!response.ok()) return response.status();
  etcdserverpb::CompactionRequest compact;
  compact.set_revision(response->header().revision());
  compact.set_physical(true);
  return client_.Compact(compact);
}

}  // namespace ringshift
