#include "client/ringctl/table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/client/ringctl/scratch_file.h"

namespace ringshift {
namespace {

using ::ringshift::testing::ScratchFile;

std::string Print(Table& table) {
  const ScratchFile file;
  Output output(file.fd());
  table.Print(output);
  output.Flush();
  return file.Contents();
}

TEST(TableTest, ColumnsAreAligned) {
  Table table({{"NAME"}, {"SHARE", Table::kRight}, {"REASON"}});
  table.AddRow({"ams", "0%", "start"});
  table.AddRow({"frankfurt", "12.5%", ""});
  EXPECT_EQ(Print(table),
            "NAME       SHARE  REASON\n"
            "ams           0%  start\n"
            "frankfurt  12.5%\n");
}

TEST(TableTest, WithoutTitlesThereAreOnlyRows) {
  Table table({{""}, {""}});
  table.AddRow({"tier", "canary"});
  table.AddRow({"by", "root"});
  EXPECT_EQ(Print(table), "tier  canary\nby    root\n");
}

TEST(TableTest, WidthIsCountedInCharacters) {
  Table table({{"A"}, {"B"}});
  table.AddRow({"Zürich", "x"});
  table.AddRow({"abcdef", "y"});
  EXPECT_EQ(Print(table), "A       B\nZürich  x\nabcdef  y\n");
}

TEST(TableTest, CellsCannotSteerTheTerminal) {
  Table table({{""}});
  table.AddRow({"\033]0;title\a\nforged row"});
  EXPECT_EQ(Print(table), "\\x1b]0;title\\x07\\nforged row\n");
}

TEST(TableTest, LaterRowsFollowWithoutTitles) {
  Table table({{"KEY"}, {"RING"}});
  table.AddRow({"a long key", "v1"});
  EXPECT_EQ(Print(table), "KEY         RING\na long key  v1\n");
  EXPECT_EQ(table.pending_rows(), 0U);
  table.AddRow({"k", "v2"});
  EXPECT_EQ(table.pending_rows(), 1U);
  EXPECT_EQ(Print(table), "k           v2\n");
}

TEST(TableTest, AnEmptyTableHasItsTitles) {
  Table table({{"A"}, {"B"}});
  EXPECT_EQ(Print(table), "A  B\n");
}

TEST(TableTest, ColumnsAtTheRightThatDoNotFitAreLeftOut) {
  for (const auto& [width, lines] : std::vector<std::pair<std::size_t, std::vector<std::string>>>{
           {15, {"NAME  V2  WHY", "ams   0%  first"}},
           {14, {"NAME  V2", "ams   0%"}},
           {8, {"NAME  V2", "ams   0%"}},
           {7, {"NAME", "ams"}},
           {0, {"NAME", "ams"}}}) {
    Table table({{"NAME"}, {"V2"}, {"WHY"}});
    table.AddRow({"ams", "0%", "first"});
    EXPECT_EQ(table.TakeLines(width), lines) << width;
  }
}

TEST(CutToWidthTest, CountsCharacters) {
  EXPECT_EQ(CutToWidth("Zürich", 2), "Zü");
  EXPECT_EQ(CutToWidth("ams", 3), "ams");
  EXPECT_EQ(CutToWidth("ams", 9), "ams");
  EXPECT_EQ(CutToWidth("ams", 0), "");
}

TEST(GaugeTest, FillsByPart) {
  EXPECT_EQ(Gauge(0, 4), "[....]");
  EXPECT_EQ(Gauge(0.5, 4), "[##..]");
  EXPECT_EQ(Gauge(1, 4), "[####]");
}

TEST(GaugeTest, ALittleIsNotNothingAndNearlyAllIsNotAll) {
  EXPECT_EQ(Gauge(0.000001, 4), "[#...]");
  EXPECT_EQ(Gauge(0.999999, 4), "[###.]");
}

TEST(GaugeTest, WhatIsOutOfRangeFillsNoMoreThanAll) {
  EXPECT_EQ(Gauge(7, 4), "[####]");
  EXPECT_EQ(Gauge(-1, 4), "[....]");
}

}  // namespace
}  // namespace ringshift
