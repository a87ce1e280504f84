#include "server/change_feed.h"

#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace ringshift {
namespace {

// Tells selections apart.
std::string SelectionId(const ChangeFeed::Names& names) {
  std::string text;
  for (const std::string& name : names) text += name + '\n';
  return std::to_string(XXH3_64bits(text.data(), text.size()));
}

// ID-PLACE-SELECTION
std::string MakeCursor(const std::string& id, std::uint64_t place, const std::string& selection) {
  return id + "-" + std::to_string(place) + "-" + selection;
}

// None if it is no cursor of the feed `id` and this selection.
std::optional<std::uint64_t> ParseCursor(std::string_view cursor, const std::string& id,
                                         const std::string& selection) {
  const std::size_t begin = id.size() + 1;
  if (cursor.size() <= begin) return std::nullopt;
  std::uint64_t place = 0;
  const auto [end, error] =
      std::from_chars(cursor.data() + begin, cursor.data() + cursor.size(), place);
  if (error != std::errc() || cursor != MakeCursor(id, place, selection)) return std::nullopt;
  return place;
}

}  // namespace

bool ChangeFeed::Update(const States& states) {
  const MutexLock lock(mutex_);
  const std::uint64_t before = end_;
  for (const auto& [name, state] : states) {
    const auto place = places_.find(name);
    if (place != places_.end()) {
      const State& known = line_.at(place->second).state;
      if (known == state || (known != nullptr && *known == *state)) continue;
    }
    MoveToEnd(name, state);
  }
  std::vector<std::string> gone;
  for (const auto& [name, place] : places_) {
    if (!states.contains(name) && !removed_.contains(place)) gone.push_back(name);
  }
  for (const std::string& name : gone) MoveToEnd(name, nullptr);
  ForgetRemoved();
  return end_ != before;
}

void ChangeFeed::MoveToEnd(const std::string& name, State state) {
  ++end_;
  const auto [place, is_new] = places_.try_emplace(name, end_);
  if (!is_new) {
    line_.erase(place->second);
    removed_.erase(place->second);
    place->second = end_;
  }
  if (state == nullptr) removed_.insert(end_);
  line_.emplace(end_, Change{name, std::move(state)});
}

void ChangeFeed::ForgetRemoved() {
  while (removed_.size() > kMaxRemoved) {
    forgotten_ = *removed_.begin();
    removed_.erase(removed_.begin());
    const auto change = line_.find(forgotten_);
    places_.erase(change->second.name);
    line_.erase(change);
  }
}

ChangeFeed::Reader::Reader(const ChangeFeed& feed, Names names, std::string_view cursor)
    : feed_(feed),
      names_(std::move(names)),
      selection_(SelectionId(names_)),
      place_(ParseCursor(cursor, feed.id_, selection_)) {
  const MutexLock lock(feed_.mutex_);
  if (place_ > feed_.end_) place_.reset();
}

std::optional<ChangeFeed::News> ChangeFeed::Reader::Next(std::size_t max_bytes) {
  const MutexLock lock(feed_.mutex_);
  News news;
  // What was gone before the snapshot was never told in it.
  if (!place_ || std::max(*place_, snapshot_place_) < feed_.forgotten_) {
    news.is_snapshot = true;
    place_ = 0;
    snapshot_place_ = feed_.end_;
    owes_cursor_ = true;
  }
  std::size_t bytes = 0;
  auto next = feed_.line_.upper_bound(*place_);
  for (; next != feed_.line_.end(); ++next) {
    const auto& [place, change] = *next;
    if (Follows(change.name)) {
      if (change.state != nullptr) {
        bytes += change.state->size();
        if (bytes > max_bytes && !news.states.empty()) break;
        news.states.push_back(change.state);
      } else if (place > snapshot_place_) {
        news.removed.push_back(change.name);
      }
    }
    place_ = place;
  }
  if (next == feed_.line_.end()) news.cursor = MakeCursor(feed_.id_, *place_, selection_);
  const bool is_news = owes_cursor_ || !news.states.empty() || !news.removed.empty();
  owes_cursor_ = news.cursor.empty();
  if (!is_news) return std::nullopt;
  return news;
}

}  // namespace ringshift
