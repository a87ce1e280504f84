#include "migration/answer_history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using testing::IsOkAndHolds;
using testing::StatusIs;

Share Ppm(std::int64_t ppm) { return Share::FromPpm(ppm).value(); }
WallTime At(std::chrono::seconds seconds) { return WallTime(seconds); }

// Every share that was ever in force, and since when: what an AnswerHistory is a summary of.
class Log {
 public:
  explicit Log(Share first) : log_{{WallTime::min(), first}} {}

  Share share() const { return log_.back().second; }
  WallTime time() const { return log_.back().first; }
  void Change(Share to, WallTime time) {
    if (to != share()) log_.emplace_back(std::max(time, log_.back().first), to);
  }

  bool AnsweredByV2(std::int32_t bucket, WallTime begin) const {
    return Any(begin, [bucket](Share share) { return bucket < share.ppm(); });
  }
  bool AnsweredByV1(std::int32_t bucket, WallTime begin) const {
    return Any(begin, [bucket](Share share) { return bucket >= share.ppm(); });
  }
  Share FirstShare(WallTime begin) const {
    Share first = log_.front().second;
    for (const auto& [time, share] : log_) {
      if (time <= begin) first = share;
    }
    return first;
  }

 private:
  template <typename Predicate>
  bool Any(WallTime begin, const Predicate& predicate) const {
    for (std::size_t i = 0; i < log_.size(); ++i) {
      const bool in_window = i + 1 == log_.size() || log_[i + 1].first > begin;
      if (in_window && predicate(log_[i].second)) return true;
    }
    return false;
  }

  std::vector<std::pair<WallTime, Share>> log_;
};

// A history and the log beside it, which get the same changes.
struct Both {
  explicit Both(Share first) : log(first) {}

  void Change(Share to, WallTime time, WallTime oldest) {
    history.Change(log.share(), to, time, oldest);
    log.Change(to, time);
  }
  Warmth At(WallTime begin) const { return history.At(log.share(), begin); }

  Log log;
  AnswerHistory history;
};

constexpr std::int32_t kGrid = 50'000;

// The buckets at which shares of the grid begin and end.
std::vector<std::int32_t> Buckets() {
  std::vector<std::int32_t> buckets;
  for (std::int32_t ppm = 0; ppm <= Share::kMaxPpm; ppm += kGrid) {
    if (ppm > 0) buckets.push_back(ppm - 1);
    if (ppm < Share::kMaxPpm) buckets.push_back(ppm);
  }
  return buckets;
}

void ExpectExact(const Both& both, WallTime begin) {
  const Warmth warmth = both.At(begin);
  EXPECT_EQ(warmth.first_share, both.log.FirstShare(begin));
  for (const std::int32_t bucket : Buckets()) {
    ASSERT_EQ(bucket < warmth.v2_warm_below.ppm(), both.log.AnsweredByV2(bucket, begin)) << bucket;
    ASSERT_EQ(bucket >= warmth.v1_warm_from.ppm(), both.log.AnsweredByV1(bucket, begin)) << bucket;
  }
}

TEST(AnswerHistoryTest, WithoutAChangeEachBucketWasAnsweredAsItIsNow) {
  const AnswerHistory history;
  for (const Share share : {Share::None(), Ppm(300'000), Share::All()}) {
    EXPECT_EQ(history.At(share, At(hours(1))), (Warmth{share, share, share}));
  }
  EXPECT_EQ(history.NextChangeOfBegin(WallTime()), WallTime::max());
}

TEST(AnswerHistoryTest, AShareThatEndedAnswersUntilTheWindowBeginsWhereItEnded) {
  Both both(Share::None());
  both.Change(Ppm(100'000), At(hours(1)), WallTime());
  both.Change(Ppm(50'000), At(hours(2)), WallTime());
  EXPECT_EQ(both.At(At(hours(1)) - microseconds(1)),
            (Warmth{Ppm(100'000), Share::None(), Share::None()}));
  EXPECT_EQ(both.At(At(hours(1))), (Warmth{Ppm(100'000), Ppm(50'000), Ppm(100'000)}));
  EXPECT_EQ(both.At(At(hours(2)) - microseconds(1)),
            (Warmth{Ppm(100'000), Ppm(50'000), Ppm(100'000)}));
  EXPECT_EQ(both.At(At(hours(2))), (Warmth{Ppm(50'000), Ppm(50'000), Ppm(50'000)}));
}

// What a single high-water mark gets wrong.
TEST(AnswerHistoryTest, AHighShareThatEndedBeforeTheWindowIsForgottenThoughALowerOneEndedWithinIt) {
  Both both(Ppm(200'000));
  both.Change(Share::None(), At(hours(1)), WallTime());
  both.Change(Ppm(100'000), At(hours(2)), WallTime());
  both.Change(Share::None(), At(hours(3)), WallTime());
  EXPECT_EQ(both.At(At(minutes(30))).v2_warm_below, Ppm(200'000));
  EXPECT_EQ(both.At(At(minutes(90))).v2_warm_below, Ppm(100'000));
  EXPECT_EQ(both.At(At(hours(3))).v2_warm_below, Share::None());
}

// The model: a log of who answered when.
class AnswerHistoryModelTest : public ::testing::TestWithParam<std::uint32_t> {};

INSTANTIATE_TEST_SUITE_P(Seeds, AnswerHistoryModelTest, ::testing::Range(0U, 8U));

TEST_P(AnswerHistoryModelTest, EveryBucketWasAnsweredByWhomTheLogSays) {
  std::mt19937 random(GetParam());
  const auto below = [&random](std::int64_t limit) {
    return std::uniform_int_distribution<std::int64_t>(0, limit - 1)(random);
  };
  constexpr hours kWindow(24);
  Both both(Ppm(kGrid * below(21)));
  WallTime now = At(hours(1'000));
  WallTime oldest = WallTime::min();
  std::vector<WallTime> times = {now};
  for (int step = 0; step < 400; ++step) {
    switch (below(8)) {
      case 0:  // at the same moment
        break;
      case 1:
        now += microseconds(1);
        break;
      case 2:
        now -= minutes(below(90));
        break;
      case 3:
        now += hours(below(48));
        break;
      default:
        now += minutes(below(120));
    }
    oldest = std::max(oldest, now - kWindow);
    // Back to none, or to all, more often than by chance.
    const std::int64_t kind = below(6);
    const std::int64_t ppm = kind == 0 ? 0 : kind == 1 ? Share::kMaxPpm : kGrid * below(21);
    both.Change(Ppm(ppm), now, now - kWindow);
    if (both.log.time() != WallTime::min()) times.push_back(both.log.time());
    if (times.size() > 30) times.erase(times.begin());

    std::vector<WallTime> begins = {oldest, oldest + minutes(below(24 * 60)), now};
    for (const WallTime time : times) {
      for (const int offset : {-1, 0, 1}) begins.push_back(time + microseconds(offset));
    }
    for (const WallTime begin : begins) {
      if (begin < oldest) continue;
      ExpectExact(both, begin);
      if (HasFatalFailure()) return;
    }
    EXPECT_THAT(AnswerHistory::Parse(both.history.ToText()), IsOkAndHolds(both.history));
  }
}

TEST_P(AnswerHistoryModelTest, NothingChangesBeforeTheNextChangeOfBegin) {
  std::mt19937 random(GetParam());
  Both both(Share::None());
  for (int i = 1; i <= 100; ++i) {
    const auto ppm = std::uniform_int_distribution<std::int64_t>(0, 20)(random) * kGrid;
    both.Change(Ppm(ppm), At(minutes(i)), WallTime());
  }
  WallTime begin{};
  int changes = 0;
  for (WallTime next = both.history.NextChangeOfBegin(begin); next != WallTime::max();
       next = both.history.NextChangeOfBegin(begin)) {
    ASSERT_GT(next, begin);
    EXPECT_EQ(both.At(next - microseconds(1)), both.At(begin));
    EXPECT_NE(both.At(next), both.At(begin));
    begin = next;
    ++changes;
  }
  EXPECT_GT(changes, 50);
  const Share share = both.log.share();
  EXPECT_EQ(both.At(begin), (Warmth{share, share, share}));
}

TEST_P(AnswerHistoryModelTest, BeyondTheMostStepsItIsOnlyEverKnownOfFewerThatTheyAreWarm) {
  std::mt19937 random(GetParam());
  Both both(Share::None());
  // In turn: anything, ever up, ever down, a sawtooth.
  for (int i = 1; i <= 2'000; ++i) {
    const std::int64_t ppm[] = {std::uniform_int_distribution<std::int64_t>(0, 1'000'000)(random),
                                500 * i, 1'000'000 - 500 * i, (i % 2) * 500'000 + 200 * i};
    both.Change(Ppm(ppm[GetParam() % 4]), At(minutes(i)), WallTime());
  }
  for (int i = 0; i <= 2'000; i += 13) {
    const WallTime begin = At(minutes(i));
    const Warmth warmth = both.At(begin);
    for (std::int32_t bucket = 0; bucket < Share::kMaxPpm; bucket += 4'999) {
      if (bucket < warmth.v2_warm_below.ppm()) {
        ASSERT_TRUE(both.log.AnsweredByV2(bucket, begin)) << bucket;
      }
      if (bucket >= warmth.v1_warm_from.ppm()) {
        ASSERT_TRUE(both.log.AnsweredByV1(bucket, begin)) << bucket;
      }
    }
    // As long as it reaches, all is known.
    const WallTime known = both.history.KnownSince(begin);
    ASSERT_GE(known, begin);
    if (i > 2'000 - static_cast<int>(AnswerHistory::kMaxSteps)) {
      ASSERT_EQ(known, begin);
    }
    ExpectExact(both, known);
    if (HasFatalFailure()) return;
  }
  EXPECT_THAT(AnswerHistory::Parse(both.history.ToText()), IsOkAndHolds(both.history));
}

TEST(AnswerHistoryTest, AStepThatIsTooOldIsDropped) {
  AnswerHistory history;
  history.Change(Share::None(), Ppm(100'000), At(hours(1)), WallTime());
  history.Change(Ppm(100'000), Ppm(50'000), At(hours(2)), WallTime());
  EXPECT_EQ(history.ToText(),
            "v2=100000@7200000000;v1=0@3600000000;changes=0@3600000000,100000@7200000000");
  history.Change(Ppm(50'000), Ppm(50'000), At(hours(26)), At(hours(2)));
  EXPECT_EQ(history, AnswerHistory());
}

TEST(AnswerHistoryTest, ATimeThatGoesBackIsTakenAsThatOfTheLastChange) {
  AnswerHistory history;
  history.Change(Share::None(), Ppm(300'000), At(hours(5)), WallTime());
  history.Change(Ppm(300'000), Ppm(100'000), At(hours(3)), WallTime());
  EXPECT_EQ(history.At(Ppm(100'000), At(hours(4))),
            (Warmth{Ppm(300'000), Share::None(), Share::None()}));
  EXPECT_EQ(history.NextChangeOfBegin(At(hours(4))), At(hours(5)));
  EXPECT_EQ(history.At(Ppm(100'000), At(hours(5))),
            (Warmth{Ppm(100'000), Ppm(100'000), Ppm(100'000)}));
}

TEST(AnswerHistoryTest, NoHistoryIsATextToo) {
  EXPECT_EQ(AnswerHistory().ToText(), "v2=;v1=;changes=");
  EXPECT_THAT(AnswerHistory::Parse("v2=;v1=;changes="), IsOkAndHolds(AnswerHistory()));
}

TEST(AnswerHistoryTest, ATextThatMakesNoSenseIsDataLossAndQuoted) {
  std::string too_many = "v2=;v1=;changes=0@0";
  for (std::size_t i = 1; i <= AnswerHistory::kMaxSteps; ++i) {
    too_many += "," + std::to_string(i) + "@" + std::to_string(i);
  }
  const std::pair<std::string, std::string> kCases[] = {
      {"", "0 bytes in, at \"\""},
      {"nonsense", "0 bytes in, at \"nonsense\""},
      {"v2=;v1=", "7 bytes in, at \"\""},
      {"v2=;v1=;changes=;", "16 bytes in, at \";\""},
      {"v2=;changes=;v1=", "3 bytes in, at \";changes=;v1=\""},
      {"v2=;v1=;changes=5", "17 bytes in, at \"\""},
      {"v2=;v1=;changes=5@", "18 bytes in, at \"\""},
      {"v2=;v1=;changes=5@x", "18 bytes in, at \"x\""},
      {"v2=;v1=;changes=5@7,", "20 bytes in, at \"\""},
      {"v2=;v1=;changes=5@7 ", "19 bytes in, at \" \""},
      {"v2=;v1=;changes= 5@7", "16 bytes in, at \" 5@7\""},
      {"v2=;v1=;changes=-1@7", "at \"\""},
      {"v2=;v1=;changes=1000001@7", "at \"\""},
      {"v2=;v1=;changes=5@99999999999999999999", "at \"99999999999999999999\""},
      // Numbers as we do not write them.
      {"v2=;v1=;changes=05@7", "no sense: \"v2=;v1=;changes=05@7\""},
      {"v2=;v1=;changes=5@-0", "no sense: \"v2="},
      // Steps that are not in order, or not of their staircase.
      {"v2=;v1=;changes=5@7,6@7", "no sense: \"v2="},
      {"v2=;v1=;changes=5@7,6@6", "no sense: \"v2="},
      {"v2=5@6,6@7;v1=;changes=5@6,6@7", "no sense: \"v2="},
      {"v2=;v1=6@6,5@7;changes=6@6,5@7", "no sense: \"v2="},
      {"v2=0@7;v1=;changes=0@7", "no sense: \"v2="},
      {"v2=;v1=1000000@7;changes=1000000@7", "no sense: \"v2="},
      {"v2=5@8;v1=;changes=5@7", "no sense: \"v2="},
      {"v2=5@7;v1=;changes=", "no sense: \"v2="},
      {too_many, "no sense: \"v2="},
  };
  for (const auto& [text, message] : kCases) {
    EXPECT_THAT(AnswerHistory::Parse(text),
                StatusIs(absl::StatusCode::kDataLoss, ::testing::HasSubstr(message)))
        << text;
  }
}

}  // namespace
}  // namespace ringshift
