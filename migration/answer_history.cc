#include "migration/answer_history.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

// Takes a number off the front of `rest`.
std::optional<std::int64_t> TakeNumber(std::string_view& rest) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (error != std::errc()) return std::nullopt;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return number;
}

// Takes `expected` off the front of `rest`; false if it is not there.
bool Take(std::string_view expected, std::string_view& rest) {
  if (!rest.starts_with(expected)) return false;
  rest.remove_prefix(expected.size());
  return true;
}

}  // namespace

// Where one of that time is there already, that one says as much.
void AnswerHistory::Add(Steps& steps, Step step) {
  if (!steps.empty() && steps.back().time == step.time) return;
  if (steps.size() == kMaxSteps) steps.erase(steps.begin());
  steps.push_back(step);
}

AnswerHistory::Steps::const_iterator AnswerHistory::FirstBehind(const Steps& steps,
                                                                WallTime begin) {
  return std::upper_bound(steps.begin(), steps.end(), begin,
                          [](WallTime time, const Step& step) { return time < step.time; });
}

void AnswerHistory::Change(Share from, Share to, WallTime time, WallTime oldest) {
  if (!changes_.empty()) time = std::max(time, changes_.back().time);
  // A step goes where another one, or the share now in force, says as much of more buckets and of a
  // later time.
  if (to < from) {
    while (!v2_.empty() && v2_.back().share <= from) v2_.pop_back();
    Add(v2_, {from, time});
    while (!v1_.empty() && v1_.back().share >= to) v1_.pop_back();
  }
  if (to > from) {
    while (!v1_.empty() && v1_.back().share >= from) v1_.pop_back();
    Add(v1_, {from, time});
    while (!v2_.empty() && v2_.back().share <= to) v2_.pop_back();
  }
  if (to != from) Add(changes_, {from, time});
  for (Steps* const steps : {&v2_, &v1_, &changes_}) {
    steps->erase(steps->begin(), FirstBehind(*steps, oldest));
  }
}

Warmth AnswerHistory::At(Share share, WallTime begin) const {
  Warmth warmth{share, share, share};
  if (const auto step = FirstBehind(v2_, begin); step != v2_.end()) {
    warmth.v2_warm_below = std::max(share, step->share);
  }
  if (const auto step = FirstBehind(v1_, begin); step != v1_.end()) {
    warmth.v1_warm_from = std::min(share, step->share);
  }
  if (const auto step = FirstBehind(changes_, begin); step != changes_.end()) {
    warmth.first_share = step->share;
  }
  return warmth;
}

WallTime AnswerHistory::KnownSince(WallTime begin) const {
  return changes_.size() < kMaxSteps ? begin : std::max(begin, changes_.front().time);
}

WallTime AnswerHistory::NextChangeOfBegin(WallTime begin) const {
  WallTime next = WallTime::max();
  for (const Steps* const steps : {&v2_, &v1_, &changes_}) {
    const auto step = FirstBehind(*steps, begin);
    if (step != steps->end()) next = std::min(next, step->time);
  }
  return next;
}

// `v2=250000@1800000000000000,100000@1800000600000000;v1=...;changes=...`: in parts per million,
// and in microseconds since 1970.
std::string AnswerHistory::ToText() const {
  std::string text;
  const auto append = [&text](std::string_view label, const Steps& steps) {
    text += label;
    const char* separator = "";
    for (const Step& step : steps) {
      absl::StrAppend(&text, separator, step.share.ppm(), "@",
                      step.time.time_since_epoch().count());
      separator = ",";
    }
  };
  append("v2=", v2_);
  append(";v1=", v1_);
  append(";changes=", changes_);
  return text;
}

bool AnswerHistory::ParseSteps(std::string_view label, std::string_view& rest, Steps& steps) {
  if (!Take(label, rest)) return false;
  while (!rest.empty() && rest.front() != ';') {
    if (!steps.empty() && !Take(",", rest)) return false;
    const std::optional<std::int64_t> ppm = TakeNumber(rest);
    if (!ppm.has_value() || !Take("@", rest)) return false;
    const std::optional<std::int64_t> micros = TakeNumber(rest);
    const absl::StatusOr<Share> share = Share::FromPpm(*ppm);
    if (!micros.has_value() || !share.ok()) return false;
    steps.push_back({*share, WallTime(std::chrono::microseconds(*micros))});
  }
  return true;
}

bool AnswerHistory::IsSound() const {
  // No two neighbours are the other way round, or the same.
  const auto strictly = [](const Steps& steps, auto before) {
    return std::adjacent_find(steps.begin(), steps.end(), [&before](const Step& a, const Step& b) {
             return !before(a, b);
           }) == steps.end();
  };
  const auto older = [](const Step& a, const Step& b) { return a.time < b.time; };
  const auto higher = [](const Step& a, const Step& b) { return a.share > b.share; };
  const auto lower = [](const Step& a, const Step& b) { return a.share < b.share; };
  for (const Steps* const steps : {&v2_, &v1_, &changes_}) {
    if (steps->size() > kMaxSteps || !strictly(*steps, older)) return false;
    if (steps->empty()) continue;
    if (changes_.empty() || steps->back().time > changes_.back().time) return false;
  }
  return strictly(v2_, higher) && (v2_.empty() || v2_.back().share > Share::None()) &&
         strictly(v1_, lower) && (v1_.empty() || v1_.back().share < Share::All());
}

absl::StatusOr<AnswerHistory> AnswerHistory::Parse(std::string_view text) {
  AnswerHistory history;
  std::string_view rest = text;
  if (!ParseSteps("v2=", rest, history.v2_) || !ParseSteps(";v1=", rest, history.v1_) ||
      !ParseSteps(";changes=", rest, history.changes_) || !rest.empty()) {
    return absl::DataLossError(absl::StrCat("the answers of rings make no sense ",
                                            text.size() - rest.size(), " bytes in, at ",
                                            internal::Quote(rest)));
  }
  // A number that is written in another way than ours was not written by us.
  if (!history.IsSound() || history.ToText() != text) {
    return absl::DataLossError(
        absl::StrCat("the answers of rings make no sense: ", internal::Quote(text)));
  }
  return history;
}

}  // namespace ringshift
