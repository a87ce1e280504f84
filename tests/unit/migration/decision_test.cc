#include "migration/decision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bitset>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "migration/share.h"
#include "ring/ring.h"
#include "tests/testing/status_matchers.h"

namespace ringshift {
namespace {

__extension__ using Uint128 = unsigned __int128;

constexpr std::uint64_t kMaxHash = ~std::uint64_t{0};

Share Percent(std::string_view text) { return Share::ParsePercent(text).value(); }

// Keys of one length, as a cache sees them.
std::string ImageKey(std::size_t i) {
  char key[32];
  std::snprintf(key, sizeof(key), "/img/%08zu.jpg", i);
  return key;
}

std::size_t CountV2(const Decision& decision, std::size_t keys, Share share) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < keys; ++i) {
    count += AnswersV2(decision.Bucket(ImageKey(i)), share);
  }
  return count;
}

constexpr std::size_t kKeys = 100'000;
using KeySet = std::bitset<kKeys>;

// The keys that v2 answers, asked one by one.
KeySet V2Keys(const Decision& decision, Share share) {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < kKeys; ++i) all.push_back(ImageKey(i));
    return all;
  }();
  KeySet set;
  for (std::size_t i = 0; i < kKeys; ++i) set[i] = AnswersV2(decision.Bucket(keys[i]), share);
  return set;
}

// The share in whole percent.
Share WholePercent(int percent) { return Share::FromPpm(percent * 10'000).value(); }

TEST(DecisionTest, ShareZeroSendsNoHashToV2) {
  for (const std::uint64_t hash :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63, kMaxHash - 1, kMaxHash}) {
    EXPECT_FALSE(AnswersV2(Decision::BucketOfHash(hash), Share::None())) << hash;
  }
  // An even walk over all hashes.
  for (std::uint64_t i = 0; i < 10'000'000; ++i) {
    ASSERT_FALSE(AnswersV2(Decision::BucketOfHash(i * (kMaxHash / 10'000'000)), Share::None()));
  }
  EXPECT_EQ(CountV2(Decision("ams"), kKeys, Share::None()), 0u);
}

TEST(DecisionTest, ShareAllSendsEveryHashToV2) {
  for (const std::uint64_t hash :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 63, kMaxHash - 1, kMaxHash}) {
    EXPECT_TRUE(AnswersV2(Decision::BucketOfHash(hash), Share::All())) << hash;
  }
  for (std::uint64_t i = 0; i < 10'000'000; ++i) {
    ASSERT_TRUE(AnswersV2(Decision::BucketOfHash(i * (kMaxHash / 10'000'000)), Share::All()));
  }
  EXPECT_EQ(CountV2(Decision("ams"), kKeys, Share::All()), kKeys);
}

TEST(DecisionTest, OnlyTheOutermostBucketsDifferFromAllAndNothing) {
  EXPECT_TRUE(AnswersV2(Decision::BucketOfHash(0), *Share::FromPpm(1)));
  EXPECT_FALSE(AnswersV2(Decision::BucketOfHash(kMaxHash), *Share::FromPpm(999'999)));
}

TEST(DecisionTest, BucketsAreInOrderOfTheHashAndOfOneSize) {
  // The lowest hash of bucket b is ceil(b * 2^64 / 1'000'000).
  for (std::uint32_t bucket = 1; bucket < 1'000'000; ++bucket) {
    const auto lowest =
        static_cast<std::uint64_t>(((static_cast<Uint128>(bucket) << 64) + 999'999) / 1'000'000);
    ASSERT_EQ(Decision::BucketOfHash(lowest), bucket);
    ASSERT_EQ(Decision::BucketOfHash(lowest - 1), bucket - 1);
  }
}

TEST(DecisionTest, RaisingTheShareOnlyAddsKeysAndLoweringItGivesTheEarlierOnesBack) {
  const Decision decision("ams");
  std::vector<KeySet> up;
  for (int percent = 0; percent <= 100; ++percent) {
    up.push_back(V2Keys(decision, WholePercent(percent)));
    if (percent == 0) continue;
    const KeySet& before = up[up.size() - 2];
    ASSERT_TRUE((before & ~up.back()).none()) << "keys left v2 on the way to " << percent << " %";
    ASSERT_GT(up.back().count(), before.count()) << percent;
  }
  EXPECT_EQ(up.front().count(), 0u);
  EXPECT_EQ(up.back().count(), kKeys);
  EXPECT_NEAR(static_cast<double>(up[50].count()), 50'000, 500);
  for (int percent = 100; percent >= 0; --percent) {
    ASSERT_EQ(V2Keys(decision, WholePercent(percent)), up[static_cast<std::size_t>(percent)])
        << percent;
  }
}

TEST(DecisionTest, AHundredthOfAPercentIsAHundredOfAMillionKeys) {
  const std::size_t count = CountV2(Decision("ams"), 1'000'000, Percent("0.01"));
  EXPECT_NEAR(static_cast<double>(count), 100, 30);
}

TEST(DecisionTest, SaltsDecideIndependently) {
  const KeySet ams = V2Keys(Decision("ams"), WholePercent(10));
  const KeySet fra = V2Keys(Decision("fra"), WholePercent(20));
  const auto both = static_cast<double>((ams & fra).count());
  EXPECT_NEAR(both / kKeys, 0.02, 0.002);
}

TEST(DecisionTest, SaltsThatDifferByOneBitDecideIndependently) {
  const KeySet a = V2Keys(Decision("dc-a"), WholePercent(10));
  const KeySet c = V2Keys(Decision("dc-c"), WholePercent(20));
  EXPECT_NEAR(static_cast<double>((a & c).count()) / kKeys, 0.02, 0.002);
}

TEST(DecisionTest, OneSaltNestsTheKeys) {
  const KeySet small = V2Keys(Decision("shared"), WholePercent(10));
  const KeySet large = V2Keys(Decision("shared"), WholePercent(20));
  EXPECT_TRUE((small & ~large).none());
  EXPECT_GT(small.count(), 0u);
}

TEST(DecisionTest, NoKeyAndNoSaltAreBytesLikeAnyOther) {
  EXPECT_EQ(Decision("ams").Hash(std::string_view()), Decision("ams").Hash(""));
  EXPECT_EQ(Decision(std::string_view()).Hash("key"), Decision("").Hash("key"));
  EXPECT_NE(Decision("").Hash("key"), Decision(std::string_view("\0", 1)).Hash("key"));
  EXPECT_NE(Decision("ams").Hash(""), Decision("ams").Hash(std::string_view("\0", 1)));
}

TEST(DecisionTest, EveryThreadGetsTheSameAnswer) {
  const Decision decision("ams");
  std::vector<std::vector<std::uint64_t>> hashes(8);
  std::vector<std::thread> threads;
  for (std::vector<std::uint64_t>& own : hashes) {
    threads.emplace_back([&decision, &own] {
      for (std::size_t i = 0; i < 1'000; ++i) own.push_back(decision.Hash(ImageKey(i)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<std::uint64_t>& own : hashes) EXPECT_EQ(own, hashes[0]);
}

// The decision and the ring must not know of each other: whatever part of the keys moves first,
// each node gives up its part of them.
class DecisionAndRingTest : public ::testing::Test {
 protected:
  static constexpr std::size_t kNodes = 10;
  static constexpr std::size_t kRingKeys = 400'000;

  void SetUp() override {
    std::vector<RingNode> nodes;
    for (std::size_t i = 0; i < kNodes; ++i) {
      ASSERT_OK_AND_ASSIGN(
          RingIdentity identity,
          RingIdentity::Parse(absl::StrCat("10.0.0.", i + 1, ":443"), IdentityStyle::kCanonical));
      nodes.push_back({absl::StrCat("cache-", i), std::move(identity), 1});
    }
    ASSERT_OK_AND_ASSIGN(auto node_set, NodeSet::Create(std::move(nodes)));
    ASSERT_OK_AND_ASSIGN(ring_, Ring::Build(node_set, DefaultRingParameters(RingVersion::kV1)));
  }

  // Of the keys that `hash` lets through at `share`: how unevenly the nodes lose them, as the
  // coefficient of variation of the counts.
  template <typename HashFunction>
  double CvOfOwners(const HashFunction& hash, Share share) const {
    std::array<double, kNodes> count{};
    double sum = 0;
    for (std::size_t i = 0; i < kRingKeys; ++i) {
      const std::string key = ImageKey(i);
      if (!AnswersV2(Decision::BucketOfHash(hash(key)), share)) continue;
      count[ring_->Owner(key)] += 1;
      sum += 1;
    }
    const double mean = sum / kNodes;
    double squares = 0;
    for (const double c : count) squares += (c - mean) * (c - mean);
    return std::sqrt(squares / kNodes) / mean;
  }

  std::shared_ptr<const Ring> ring_;
};

TEST_F(DecisionAndRingTest, TheFirstKeysToMoveComeFromAllNodesAlike) {
  const Decision decision("ams");
  const auto hash = [&](const std::string& key) { return decision.Hash(key); };
  EXPECT_LT(CvOfOwners(hash, WholePercent(1)), 0.15);
  EXPECT_LT(CvOfOwners(hash, WholePercent(10)), 0.12);
}

TEST_F(DecisionAndRingTest, TheMeasureSeesAHashThatIsTheRings) {
  const auto position = [](const std::string& key) {
    return std::uint64_t{Ring::Position(key)} << 32;
  };
  EXPECT_GT(CvOfOwners(position, WholePercent(1)), 0.5);
  // A salt in front only XORs a constant into the crc of keys of one length.
  const auto salted = [](const std::string& key) {
    return std::uint64_t{Ring::Position("ams" + key)} << 32;
  };
  EXPECT_GT(CvOfOwners(salted, WholePercent(1)), 0.5);
}

}  // namespace
}  // namespace ringshift
