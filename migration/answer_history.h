// Which ring answered which bucket of a data center, and until when: what says where an object may
// still be warm.
//
// Since a share is a threshold over buckets, the time at which v2 last answered a bucket falls as
// buckets rise, and the time at which v1 did rises with them. So two staircases of shares that
// ended hold all of it, however often the share went up and down: a step of v2's says that v2
// answered every bucket below its share until its time, a step of v1's that v1 answered every
// bucket at or above it. Only the last warm window counts, so older steps can be dropped.
//
// Thread safety: thread-compatible; a value. Cost: at most kMaxSteps steps of 16 bytes a staircase.
#ifndef RINGSHIFT_MIGRATION_ANSWER_HISTORY_H_
#define RINGSHIFT_MIGRATION_ANSWER_HISTORY_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "migration/share.h"
#include "migration/wall_time.h"

namespace ringshift {

// What answered within the warm window that ends now. Each bucket was answered by v2 if it is below
// v2_warm_below, by v1 if it is at or above v1_warm_from; by both if both are so.
struct Warmth {
  Share v2_warm_below;                // none: v2 answered nothing
  Share v1_warm_from = Share::All();  // all: v1 answered nothing
  Share first_share;                  // in force when the window began

  friend bool operator==(const Warmth&, const Warmth&) = default;
};

class AnswerHistory {
 public:
  // Of a staircase, and of the changes that tell first_share. A change that finds no room takes
  // that of the oldest one: then some objects that are warm are not known to be, never the other
  // way.
  static constexpr std::size_t kMaxSteps = 256;

  // The share that was in force until `time` is `from`, and `to` is from then on. What ended at
  // `oldest` or before is dropped. A time before that of the last change is taken as that one: a
  // share that was in force for no time by that counts as one that answered.
  void Change(Share from, Share to, WallTime time, WallTime oldest);

  // `share` is in force now, since the last Change; the warm window has `begin` in it. Exact for
  // every `begin` from the latest `oldest` of a Change on.
  Warmth At(Share share, WallTime begin) const;

  // `begin`, or the later time since when it is known what answered, where changes found no room:
  // to be taken as the beginning of the window in all that depends on it.
  WallTime KnownSince(WallTime begin) const;

  // When At(share, begin), with `begin` moving on, next changes for want of a step; WallTime::max()
  // if it does not without another Change.
  WallTime NextChangeOfBegin(WallTime begin) const;

  // A line of text, that Parse reads back: for a store. DATA_LOSS quotes what makes no sense.
  std::string ToText() const;
  static absl::StatusOr<AnswerHistory> Parse(std::string_view text);

  friend bool operator==(const AnswerHistory&, const AnswerHistory&) = default;

 private:
  struct Step {
    Share share;
    WallTime time;  // when it ended
    friend bool operator==(const Step&, const Step&) = default;
  };
  using Steps = std::vector<Step>;  // the oldest first, no two of one time

  static void Add(Steps& steps, Step step);
  static Steps::const_iterator FirstBehind(const Steps& steps, WallTime begin);
  static bool ParseSteps(std::string_view label, std::string_view& rest, Steps& steps);
  // Whether it is as Change can have made it.
  bool IsSound() const;

  Steps v2_;       // shares fall, each above the one in force
  Steps v1_;       // shares rise, each below the one in force
  Steps changes_;  // every share
};

}  // namespace ringshift

#endif  // RINGSHIFT_MIGRATION_ANSWER_HISTORY_H_
