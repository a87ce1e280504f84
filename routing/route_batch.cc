#include "routing/route_batch.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "migration/decision.h"
#include "ring/node_mask.h"
#include "routing/internal/request.h"
#include "routing/internal/warm_rings.h"
#include "routing/previous_owner.h"

namespace ringshift {
namespace {

constexpr std::size_t kPartKeys = 256;  // a part's positions stay in the core's nearest cache

// Keys of one part of a batch that one ring is asked for.
struct RingKeys {
  std::array<std::uint32_t, kPartKeys> positions;
  std::array<std::uint32_t, kPartKeys> places;  // in the part
  std::size_t count = 0;

  void Add(std::uint32_t position, std::uint32_t place) {
    positions[count] = position;
    places[count++] = place;
  }
};

// found(place, owner) for each of the keys.
template <typename Found>
void FindOwners(const Ring& ring, const NodeMask& eligible, const RingKeys& keys,
                const Found& found) {
  std::array<NodeIndex, kPartKeys> owners;
  const auto positions = std::span(keys.positions).first(keys.count);
  if (eligible.count() == eligible.size()) {
    ring.OwnersAt(positions, std::span(owners).first(keys.count));
  } else {
    ring.OwnersAt(positions, eligible, std::span(owners).first(keys.count));
  }
  for (std::size_t i = 0; i < keys.count; ++i) found(keys.places[i], owners[i]);
}

void FindFor(const RoutingTable& table, std::size_t pool, BatchAnswer& answer) {
  answer.previous_owner = FindPreviousOwner(table, pool, answer.position, answer.bucket,
                                            answer.ring_version, std::span(&answer.owner, 1))
                              .value_or(BatchAnswer::kNoNode);
}

// FindPreviousOwner for all answers of a part, where there are no past nodes. One ring after the
// other is asked, for all keys that it may know.
class PreviousOwners {
 public:
  PreviousOwners(const RoutingTable& table, std::size_t pool, std::span<BatchAnswer> answers)
      : table_(table),
        data_center_(table.data_center()),
        warmth_(table.state().warmth),
        settled_(table.settled(pool)),
        pool_(pool),
        answers_(answers) {}

  void Find() {
    RingKeys v1, v2;
    for (std::uint32_t place = 0; place < answers_.size(); ++place) {
      const BatchAnswer& answer = answers_[place];
      const RingVersion other = internal::OtherRing(answer.ring_version);
      if (data_center_.ring(other) == nullptr ||
          !internal::Answered(warmth_, other, answer.bucket)) {
        AskBeforeJoins(place);
      } else {
        (other == RingVersion::kV1 ? v1 : v2).Add(answer.position, place);
      }
    }
    const NodeMask& nodes = data_center_.pools()[pool_].nodes;
    const auto take = [this](std::uint32_t place, NodeIndex owner) {
      settled_.Contains(owner) ? Take(place, owner) : AskBeforeJoins(place);
    };
    if (v1.count > 0) FindOwners(data_center_.v1()->RingOf(pool_), nodes, v1, take);
    if (v2.count > 0) FindOwners(data_center_.v2()->RingOf(pool_), nodes, v2, take);

    const auto take_settled = [this](std::uint32_t place, NodeIndex owner) { Take(place, owner); };
    if (first_v1_.count > 0) {
      FindOwners(data_center_.v1()->RingOf(pool_), settled_, first_v1_, take_settled);
    }
    if (first_v2_.count > 0) {
      FindOwners(data_center_.v2()->RingOf(pool_), settled_, first_v2_, take_settled);
    }
  }

 private:
  void AskBeforeJoins(std::uint32_t place) {
    const BatchAnswer& answer = answers_[place];
    const RingVersion first = internal::FirstRing(warmth_, answer.bucket);
    if (first == answer.ring_version && settled_.Contains(answer.owner)) return;
    if (data_center_.ring(first) == nullptr || settled_.count() == 0) {
      return FindFor(table_, pool_, answers_[place]);
    }
    (first == RingVersion::kV1 ? first_v1_ : first_v2_).Add(answer.position, place);
  }

  void Take(std::uint32_t place, NodeIndex owner) {
    if (owner != answers_[place].owner) answers_[place].previous_owner = owner;
  }

  const RoutingTable& table_;
  const DataCenter& data_center_;
  const Warmth& warmth_;
  const NodeMask& settled_;
  const std::size_t pool_;
  const std::span<BatchAnswer> answers_;
  // The keys whose owners before nodes changed are to be found, by the ring that answered then.
  RingKeys first_v1_, first_v2_;
};

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
      BatchAnswer& answer = part_answers[i];
      answer.previous_owner = BatchAnswer::kNoNode;
      answer.position = Ring::Position(part[i]);
      answer.bucket = table_->decision().Bucket(part[i]);
      // A ring that is not there answers no bucket of the share.
      const bool is_v2 = AnswersV2(answer.bucket, table_->share());
      answer.ring_version = is_v2 ? RingVersion::kV2 : RingVersion::kV1;
      (is_v2 ? v2 : v1).Add(answer.position, i);
    }
    const auto take = [part_answers](std::uint32_t place, NodeIndex owner) {
      part_answers[place].owner = owner;
    };
    if (v1.count > 0) FindOwners(data_center.v1()->RingOf(pool_), eligible, v1, take);
    if (v2.count > 0) FindOwners(data_center.v2()->RingOf(pool_), eligible, v2, take);
    if (!table_->has_previous_owners()) continue;
    if (table_->state().past_nodes == nullptr) {
      PreviousOwners(*table_, pool_, part_answers).Find();
      continue;
    }
    for (BatchAnswer& answer : part_answers) FindFor(*table_, pool_, answer);
  }
}

}  // namespace ringshift
