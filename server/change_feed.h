// The states of named things, as bytes, for readers that follow them: first all of them, then what
// changes.
//
// The names stand in a line in the order of their last changes, each once, so a reader that has
// read the line up to a place is told what stands behind it. One that is slow misses states in
// between, and never the last one. Readers cost no memory here: there are the states, and the names
// of the last kMaxRemoved that are gone. A reader that has missed the end of an older one is told
// everything again.
//
// Thread safety: ChangeFeed is thread-safe; a Reader is its user's own. Cost: Update compares the
// states that are other objects than before; a Reader's Next looks at what is new, under the lock.
#ifndef RINGSHIFT_SERVER_CHANGE_FEED_H_
#define RINGSHIFT_SERVER_CHANGE_FEED_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "migration/mutex.h"

namespace ringshift {

class ChangeFeed {
 public:
  using State = std::shared_ptr<const std::string>;  // never null outside
  using States = std::map<std::string, State, std::less<>>;
  using Names = std::set<std::string, std::less<>>;

  static constexpr std::size_t kMaxRemoved = 1000;

  // `id` tells this feed's cursors from those of every other one, those before a restart among
  // them. It has no '-'.
  explicit ChangeFeed(std::string id) : id_(std::move(id)) {}

  // These, and no others, are the states from now on. False if they are what they were.
  bool Update(const States& states);

  struct News {
    bool is_snapshot = false;  // what was told before is over: a new beginning
    std::vector<State> states;
    std::vector<std::string> removed;
    // For a Reader that goes on from here. "" where it is not all that there is: Next has more.
    std::string cursor;
  };

  class Reader {
   public:
    // Follows `names`, or all if it is empty, from where `cursor` was given to a reader of the same
    // names; for any other cursor, from the beginning. The feed outlives it.
    Reader(const ChangeFeed& feed, Names names, std::string_view cursor);

    // What is new; none if nothing is. The first time there always is something, be it the cursor
    // alone. Its states have `max_bytes` together at most, or are one.
    std::optional<News> Next(std::size_t max_bytes);

   private:
    bool Follows(const std::string& name) const { return names_.empty() || names_.contains(name); }

    const ChangeFeed& feed_;
    const Names names_;
    const std::string selection_;         // stands for them in cursors
    std::optional<std::uint64_t> place_;  // that it has read up to; none: it begins
    std::uint64_t snapshot_place_ = 0;    // the end of the line when it last began
    bool owes_cursor_ = true;
  };

 private:
  struct Change {
    std::string name;
    State state;  // null: it is gone
  };

  void MoveToEnd(const std::string& name, State state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void ForgetRemoved() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string id_;
  mutable Mutex mutex_;
  std::uint64_t end_ ABSL_GUARDED_BY(mutex_) = 0;  // the place of the last change
  std::map<std::uint64_t, Change> line_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::uint64_t, std::less<>> places_ ABSL_GUARDED_BY(mutex_);
  std::set<std::uint64_t> removed_ ABSL_GUARDED_BY(mutex_);  // of those in the line
  std::uint64_t forgotten_ ABSL_GUARDED_BY(mutex_) = 0;  // the last one that is not in it any more
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_CHANGE_FEED_H_
