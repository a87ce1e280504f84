#include "routing/route_batch.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "ring/node_mask.h"
#include "routing/internal/request.h"

namespace ringshift {
namespace {

constexpr std::size_t kPartKeys = 256;  // a part's positions stay in the core's nearest cache

// The keys of one part of a batch that one ring answers.
struct RingKeys {
  std::array<std::uint32_t, kPartKeys> positions;
  std::array<std::uint32_t, kPartKeys> places;  // in the part
  std::size_t count = 0;
};

void Answer(const Ring& ring, const NodeMask& eligible, const RingKeys& keys,
            std::span<BatchAnswer> answers) {
  std::array<NodeIndex, kPartKeys> owners;
  const auto positions = std::span(keys.positions).first(keys.count);
  if (eligible.count() == eligible.size()) {
    ring.OwnersAt(positions, std::span(owners).first(keys.count));
  } else {
    ring.OwnersAt(positions, eligible, std::span(owners).first(keys.count));
  }
  for (std::size_t i = 0; i < keys.count; ++i) {
    answers[keys.places[i]] = {owners[i], ring.parameters().version};
  }
}

}  // namespace

absl::StatusOr<BatchRouter> BatchRouter::Create(const RoutingTable& table, std::string_view pool) {
  const absl::StatusOr<std::size_t> found = internal::FindPoolWithNodes(table, pool);
  if (!found.ok()) return found.status();
  return BatchRouter(table, *found);
}

absl::Status BatchRouter::CheckKeys(std::span<const std::string_view> keys,
                                    std::size_t first_index) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (!internal::IsValidKey(keys[i])) {
      return internal::InvalidKey(keys[i], absl::StrCat("keys[", first_index + i, "]"));
    }
  }
  return absl::OkStatus();
}

void BatchRouter::Route(std::span<const std::string_view> keys,
                        std::span<BatchAnswer> answers) const {
  const DataCenter& data_center = table_->data_center();
  const NodeMask& eligible = data_center.pools()[pool_].nodes;
  for (std::size_t begin = 0; begin < keys.size(); begin += kPartKeys) {
    const auto part = keys.subspan(begin, std::min(kPartKeys, keys.size() - begin));
    const auto part_answers = answers.subspan(begin, part.size());
    RingKeys v1, v2;
    for (std::uint32_t i = 0; i < part.size(); ++i) {
      // Without a v1 the share is all, and every bucket is below it.
      RingKeys& ring_keys =
          AnswersV2(table_->decision().Bucket(part[i]), table_->share()) ? v2 : v1;
      ring_keys.positions[ring_keys.count] = Ring::Position(part[i]);
      ring_keys.places[ring_keys.count++] = i;
    }
    if (v1.count > 0) Answer(data_center.v1()->RingOf(pool_), eligible, v1, part_answers);
    if (v2.count > 0) Answer(data_center.v2().RingOf(pool_), eligible, v2, part_answers);
  }
}

}  // namespace ringshift
