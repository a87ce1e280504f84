#include "routing/routing_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "routing/route.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/routing/specs.h"

namespace ringshift {
namespace {

using ::ringshift::testing::IsOk;
using ::ringshift::testing::MakeMigration;
using ::ringshift::testing::MakeSpec;
using ::ringshift::testing::MakeTable;
using ::ringshift::testing::StatusIs;
using ::testing::HasSubstr;

TEST(RoutingDirectoryTest, AnUnknownDataCenterIsNotFoundWithTheKnownOnes) {
  RoutingDirectory directory;
  EXPECT_THAT(
      directory.Find("ams"),
      StatusIs(absl::StatusCode::kNotFound, HasSubstr("unknown data center \"ams\"; known: none")));
  for (int i = 10; i < 22; ++i) {
    DataCenterSpec spec = MakeSpec(1);
    spec.name = "dc" + std::to_string(i);
    ASSERT_OK_AND_ASSIGN(const auto table, MakeTable(spec, 0));
    directory.Publish(table);
  }
  EXPECT_THAT(directory.Find("dc1"), StatusIs(absl::StatusCode::kNotFound,
                                              HasSubstr("known: dc10, dc11, dc12, dc13, dc14, "
                                                        "dc15, dc16, dc17, dc18, dc19 and 2 "
                                                        "more")));
}

TEST(RoutingDirectoryTest, PublishReplacesTheTableOfItsDataCenterOnly) {
  RoutingDirectory directory;
  DataCenterSpec sin = MakeSpec(2);
  sin.name = "sin";
  ASSERT_OK_AND_ASSIGN(const auto sin_table, MakeTable(sin, 0));
  ASSERT_OK_AND_ASSIGN(const auto first, MakeTable(MakeSpec(3), 0));
  ASSERT_OK_AND_ASSIGN(const auto second, MakeTable(MakeSpec(3), 500'000));
  directory.Publish(sin_table);
  directory.Publish(first);
  directory.Publish(second);
  ASSERT_OK_AND_ASSIGN(const auto found, directory.Find("ams"));
  EXPECT_EQ(found, second);
  EXPECT_THAT(directory.Tables(), ::testing::ElementsAre(second, sin_table));
}

TEST(RoutingDirectoryTest, AHeldTableOutlivesItsReplacementAndTheDirectoryKeepsNoOldOne) {
  auto directory = std::make_unique<RoutingDirectory>();
  std::weak_ptr<const RoutingTable> old;
  {
    ASSERT_OK_AND_ASSIGN(auto table, MakeTable(MakeSpec(3), 0));
    old = table;
    directory->Publish(std::move(table));
  }
  ASSERT_OK_AND_ASSIGN(auto held, directory->Find("ams"));
  ASSERT_OK_AND_ASSIGN(const auto replacement, MakeTable(MakeSpec(4), 0));
  directory->Publish(replacement);
  directory.reset();
  EXPECT_THAT(Route(*held, {.key = "k", .pool = "", .replicas = 3}), IsOk());
  EXPECT_EQ(held->data_center().node_set().size(), 3u);
  held.reset();
  EXPECT_TRUE(old.expired());
}

TEST(RoutingDirectoryTest, ARemovedTableIsNotFoundAndStaysValidForItsHolders) {
  RoutingDirectory directory;
  EXPECT_FALSE(directory.Remove("ams"));
  ASSERT_OK_AND_ASSIGN(auto table, MakeTable(MakeSpec(3), 0));
  const std::weak_ptr<const RoutingTable> watched = table;
  directory.Publish(std::move(table));
  ASSERT_OK_AND_ASSIGN(auto held, directory.Find("ams"));
  EXPECT_FALSE(directory.Remove("sin"));
  EXPECT_TRUE(directory.Remove("ams"));
  EXPECT_FALSE(directory.Remove("ams"));
  EXPECT_THAT(directory.Find("ams"), StatusIs(absl::StatusCode::kNotFound, HasSubstr("ams")));
  EXPECT_EQ(directory.Tables().size(), 0u);
  EXPECT_THAT(Route(*held, {.key = "k", .pool = ""}), IsOk());
  held.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(RoutingDirectoryTest, ReadersSeeWholeTablesThatNeverGoBackWhileAnotherThreadPublishes) {
  constexpr std::int64_t kRevisions = 2'000;
  constexpr std::size_t kReaders = 4;
  RoutingDirectory directory;
  ASSERT_OK_AND_ASSIGN(const auto data_center, DataCenter::Build(MakeSpec(5, 1)));
  const auto publish = [&](std::int64_t revision) {
    Migration migration = MakeMigration("ams", revision);
    migration.revision = revision;
    directory.Publish(*RoutingTable::Create(data_center, migration));
  };
  publish(1);
  std::atomic<bool> done = false;
  std::atomic<std::size_t> torn = 0;
  std::atomic<std::size_t> ready = 0;
  std::vector<std::thread> readers;
  for (std::size_t i = 0; i < kReaders; ++i) {
    readers.emplace_back([&] {
      std::int64_t last = 0;
      bool is_last_round = false;
      ++ready;
      while (!is_last_round) {
        is_last_round = done;
        const auto table = directory.Find("ams");
        const std::int64_t revision = (*table)->migration().revision;
        torn += revision < last || (*table)->share().ppm() != revision ||
                !Route(**table, {.key = "k", .pool = "", .replicas = 2}).ok() ||
                directory.Tables().size() != 1;
        last = revision;
      }
      torn += last != kRevisions;
    });
  }
  while (ready < kReaders) std::this_thread::yield();
  for (std::int64_t revision = 2; revision <= kRevisions; ++revision) publish(revision);
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace ringshift
