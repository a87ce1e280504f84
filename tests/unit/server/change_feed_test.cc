#include "server/change_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace ringshift {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

// States of "NAME=VALUE" by name.
using Values = std::map<std::string, int>;

ChangeFeed::States StatesOf(const Values& values) {
  ChangeFeed::States states;
  for (const auto& [name, value] : values) {
    states[name] = std::make_shared<const std::string>(name + "=" + std::to_string(value));
  }
  return states;
}

// A client: knows what the news told it.
class Client {
 public:
  explicit Client(const ChangeFeed& feed, ChangeFeed::Names names = {}, std::string cursor = "")
      : feed_(feed), names_(std::move(names)), cursor_(std::move(cursor)) {
    Reconnect();
  }

  // False if there was nothing.
  bool Read(std::size_t max_bytes = kNoLimit) {
    std::optional<ChangeFeed::News> news = reader_->Next(max_bytes);
    if (!news) return false;
    if (news->is_snapshot) {
      known_.clear();
      cursor_.clear();
      ++snapshots_;
    }
    for (const ChangeFeed::State& state : news->states) {
      const std::size_t equals = state->find('=');
      known_[state->substr(0, equals)] = std::stoi(state->substr(equals + 1));
    }
    for (const std::string& name : news->removed) known_.erase(name);
    if (!news->cursor.empty()) cursor_ = news->cursor;
    last_ = *std::move(news);
    return true;
  }
  void ReadAll(std::size_t max_bytes = kNoLimit) {
    while (Read(max_bytes)) {
    }
  }
  // With what it knows.
  void Reconnect() { reader_ = std::make_unique<ChangeFeed::Reader>(feed_, names_, cursor_); }

  const Values& known() const { return known_; }
  const ChangeFeed::News& last() const { return last_; }
  const std::string& cursor() const { return cursor_; }
  int snapshots() const { return snapshots_; }

 private:
  const ChangeFeed& feed_;
  const ChangeFeed::Names names_;
  std::unique_ptr<ChangeFeed::Reader> reader_;
  Values known_;
  ChangeFeed::News last_;
  std::string cursor_;
  int snapshots_ = 0;
};

std::vector<std::string> TextsOf(const ChangeFeed::News& news) {
  std::vector<std::string> texts;
  for (const ChangeFeed::State& state : news.states) texts.push_back(*state);
  return texts;
}

TEST(ChangeFeedTest, AReaderGetsAllThatIsAndThenWhatChanges) {
  ChangeFeed feed("1");
  EXPECT_TRUE(feed.Update(StatesOf({{"a", 1}, {"b", 1}})));
  Client client(feed);
  ASSERT_TRUE(client.Read());
  EXPECT_TRUE(client.last().is_snapshot);
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("a=1", "b=1"));
  EXPECT_FALSE(client.Read());

  EXPECT_TRUE(feed.Update(StatesOf({{"b", 2}, {"c", 1}})));
  ASSERT_TRUE(client.Read());
  EXPECT_FALSE(client.last().is_snapshot);
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("b=2", "c=1"));
  EXPECT_THAT(client.last().removed, ElementsAre("a"));
  EXPECT_FALSE(client.Read());
}

TEST(ChangeFeedTest, AnUpdateToWhatIsChangesNothing) {
  ChangeFeed feed("1");
  EXPECT_FALSE(feed.Update({}));
  feed.Update(StatesOf({{"a", 1}}));
  Client client(feed);
  client.ReadAll();
  EXPECT_FALSE(feed.Update(StatesOf({{"a", 1}})));
  EXPECT_FALSE(client.Read());
}

TEST(ChangeFeedTest, TheFirstNewsComeAlsoWhereThereIsNothingToTell) {
  ChangeFeed feed("1");
  Client client(feed);
  ASSERT_TRUE(client.Read());
  EXPECT_TRUE(client.last().is_snapshot);
  EXPECT_NE(client.cursor(), "");
  client.Reconnect();
  ASSERT_TRUE(client.Read());
  EXPECT_FALSE(client.last().is_snapshot);
  EXPECT_FALSE(client.Read());
}

TEST(ChangeFeedTest, ASlowReaderMissesStatesInBetweenAndNotTheLastOne) {
  ChangeFeed feed("1");
  feed.Update(StatesOf({{"a", 1}, {"b", 1}}));
  Client client(feed);
  client.ReadAll();
  for (int value = 2; value < 10; ++value) feed.Update(StatesOf({{"a", value}, {"b", 1}}));
  ASSERT_TRUE(client.Read());
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("a=9"));
}

TEST(ChangeFeedTest, AReaderThatComesBackGetsOnlyWhatChangedMeanwhile) {
  ChangeFeed feed("1");
  feed.Update(StatesOf({{"a", 1}, {"b", 1}, {"c", 1}}));
  Client client(feed);
  client.ReadAll();
  feed.Update(StatesOf({{"a", 1}, {"b", 2}}));
  client.Reconnect();
  ASSERT_TRUE(client.Read());
  EXPECT_FALSE(client.last().is_snapshot);
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("b=2"));
  EXPECT_THAT(client.last().removed, ElementsAre("c"));
}

TEST(ChangeFeedTest, ACursorThatIsNotTheFeedsGetsASnapshot) {
  ChangeFeed feed("17");
  feed.Update(StatesOf({{"a", 1}}));
  Client known(feed);
  known.ReadAll();
  ChangeFeed restarted("18");
  restarted.Update(StatesOf({{"a", 1}}));
  Client other(restarted);
  other.ReadAll();
  Client later(feed);
  const std::string cursor = known.cursor();
  const std::size_t place = cursor.find('-') + 1;
  std::string of_the_future = cursor;
  of_the_future.replace(place, 1, "99");
  for (const std::string& text :
       {std::string(), other.cursor(), of_the_future, std::string("17"), std::string("17-"),
        std::string("17--"), cursor + "0", cursor.substr(1), "17--1" + cursor.substr(place + 1),
        "17-99999999999999999999999" + cursor.substr(place + 1), std::string(100'000, '-')}) {
    Client client(feed, {}, text);
    ASSERT_TRUE(client.Read());
    EXPECT_TRUE(client.last().is_snapshot) << text.substr(0, 100);
    EXPECT_EQ(client.known(), Values({{"a", 1}}));
  }
  Client same(feed, {}, cursor);
  ASSERT_TRUE(same.Read());
  EXPECT_FALSE(same.last().is_snapshot);
}

TEST(ChangeFeedTest, AReaderOfSomeNamesHearsOfNoOthers) {
  ChangeFeed feed("1");
  feed.Update(StatesOf({{"a", 1}, {"b", 1}, {"c", 1}}));
  Client client(feed, {"a", "b"});
  client.ReadAll();
  EXPECT_EQ(client.known(), Values({{"a", 1}, {"b", 1}}));
  feed.Update(StatesOf({{"a", 1}, {"b", 1}, {"c", 2}, {"d", 1}}));
  EXPECT_FALSE(client.Read());
  feed.Update(StatesOf({{"a", 2}}));
  ASSERT_TRUE(client.Read());
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("a=2"));
  EXPECT_THAT(client.last().removed, ElementsAre("b"));
}

TEST(ChangeFeedTest, ACursorOfOtherNamesGetsASnapshot) {
  ChangeFeed feed("1");
  feed.Update(StatesOf({{"a", 1}, {"b", 1}}));
  Client a(feed, {"a"});
  a.ReadAll();
  Client both(feed, {"a", "b"}, a.cursor());
  both.ReadAll();
  EXPECT_EQ(both.known(), Values({{"a", 1}, {"b", 1}}));
  EXPECT_EQ(both.snapshots(), 1);
}

TEST(ChangeFeedTest, OnlyTheLastOfSeveralNewsHasACursor) {
  ChangeFeed feed("1");
  feed.Update(StatesOf({{"a", 1}, {"b", 1}, {"long", 1'000'000}, {"z", 1}}));
  Client client(feed);
  ASSERT_TRUE(client.Read(6));
  EXPECT_TRUE(client.last().is_snapshot);
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("a=1", "b=1"));
  EXPECT_EQ(client.last().cursor, "");
  ASSERT_TRUE(client.Read(6));
  EXPECT_FALSE(client.last().is_snapshot);
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("long=1000000"));
  EXPECT_EQ(client.last().cursor, "");
  ASSERT_TRUE(client.Read(6));
  EXPECT_THAT(TextsOf(client.last()), ElementsAre("z=1"));
  EXPECT_NE(client.last().cursor, "");
  EXPECT_FALSE(client.Read(6));
}

TEST(ChangeFeedTest, TheCursorComesAlsoWhereTheRestHasGone) {
  ChangeFeed feed("1");
  feed.Update(StatesOf({{"a", 1}, {"b", 1}}));
  Client client(feed);
  ASSERT_TRUE(client.Read(3));
  feed.Update(StatesOf({{"a", 1}}));
  ASSERT_TRUE(client.Read(3));
  EXPECT_THAT(client.last().states, IsEmpty());
  EXPECT_NE(client.last().cursor, "");
  EXPECT_EQ(client.known(), Values({{"a", 1}}));
}

TEST(ChangeFeedTest, WhoMissedMoreRemovalsThanAreRememberedGetsASnapshot) {
  ChangeFeed feed("1");
  Values values;
  constexpr int kMax = static_cast<int>(ChangeFeed::kMaxRemoved);
  for (int i = 0; i < kMax + 1; ++i) values["n" + std::to_string(i)] = i;
  values["stays"] = 1;
  feed.Update(StatesOf(values));
  Client client(feed);
  client.ReadAll();
  Client late(feed);
  late.ReadAll();
  values.erase("n0");
  feed.Update(StatesOf(values));
  client.ReadAll();
  feed.Update(StatesOf({{"stays", 1}}));

  client.Reconnect();
  client.ReadAll();
  EXPECT_EQ(client.snapshots(), 1);
  EXPECT_EQ(client.known(), Values({{"stays", 1}}));
  late.Reconnect();
  late.ReadAll();
  EXPECT_EQ(late.snapshots(), 2);
  EXPECT_EQ(late.known(), Values({{"stays", 1}}));
  // One that begins hears of none of them.
  Client first(feed);
  ASSERT_TRUE(first.Read());
  EXPECT_THAT(first.last().removed, IsEmpty());
}

// Readers of all kinds of patience, which go and come back, against what is.
TEST(ChangeFeedTest, EveryReaderThatReadsToTheEndKnowsWhatIs) {
  std::mt19937 random(1);
  const auto below = [&](int bound) {
    return static_cast<int>(random() % static_cast<unsigned>(bound));
  };
  for (int round = 0; round < 5; ++round) {
    ChangeFeed feed(std::to_string(round));
    Values values;
    std::vector<std::unique_ptr<Client>> clients;
    std::vector<ChangeFeed::Names> selections = {{}, {"n1"}, {"n2", "n3", "n700"}};
    for (int step = 0; step < 200; ++step) {
      // Now and then more names go than are remembered.
      const int changes = below(50) == 0 ? 4000 : below(6);
      for (int i = 0; i < changes; ++i) {
        const std::string name = "n" + std::to_string(below(changes > 100 ? 2000 : 10));
        if (below(3) == 0) {
          values.erase(name);
        } else {
          values[name] = below(1'000'000);
        }
      }
      if (below(100) == 0) values.clear();
      feed.Update(StatesOf(values));
      if (clients.size() < 30) {
        clients.push_back(std::make_unique<Client>(feed, selections[clients.size() % 3]));
      }
      for (std::size_t i = 0; i < clients.size(); ++i) {
        Client& client = *clients[i];
        if (below(4) != 0) continue;
        if (below(5) == 0) client.Reconnect();
        if (below(2) == 0) {
          client.Read(100);
          continue;
        }
        client.ReadAll(static_cast<std::size_t>(10 + below(2000)));
        Values expected;
        for (const auto& [name, value] : values) {
          const ChangeFeed::Names& names = selections[i % 3];
          if (names.empty() || names.contains(name)) expected[name] = value;
        }
        ASSERT_EQ(client.known(), expected) << "round " << round << ", step " << step;
      }
    }
  }
}

TEST(ChangeFeedTest, ReadersReadWhileItIsUpdated) {
  ChangeFeed feed("1");
  constexpr int kLast = 2000;
  std::thread writer([&] {
    for (int value = 1; value <= kLast; ++value) {
      feed.Update(StatesOf({{"a", value}, {"b", -value}, {"c" + std::to_string(value % 3), 1}}));
    }
  });
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&feed] {
      Client client(feed);
      int last = 0;
      while (last < kLast) {
        client.Read();
        const auto a = client.known().find("a");
        if (a == client.known().end()) continue;
        ASSERT_GE(a->second, last);
        ASSERT_EQ(client.known().at("b"), -a->second);
        last = a->second;
      }
    });
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
}

}  // namespace
}  // namespace ringshift
