// An aligned table for people.
//
//   Table table({{"DATA CENTER"}, {"SHARE", Table::kRight}});
//   table.AddRow({"ams", "12.5%"});
//   table.Print(output);
//
// Thread safety: thread-compatible. Cost: rows are held until they are printed.
#ifndef RINGSHIFT_CLIENT_RINGCTL_TABLE_H_
#define RINGSHIFT_CLIENT_RINGCTL_TABLE_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "client/ringctl/output.h"

namespace ringshift {

class Table {
 public:
  enum Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = kLeft;
  };

  // Without any title there is no line of titles.
  explicit Table(std::vector<Column> columns);

  // Cells are escaped with ForTerminal and counted in characters. REQUIRES: a cell for each column
  void AddRow(std::vector<std::string> cells);

  // Writes the rows that were added since the last Print, the first time below the titles. Columns
  // are as wide as the widest cell so far.
  void Print(Output& output);

  // The same as lines, without the newlines. Columns at the right are left out until a line has at
  // most `max_width` characters; the first one stays.
  std::vector<std::string> TakeLines(std::size_t max_width);

  std::size_t pending_rows() const { return rows_.size(); }

 private:
  // Of the first `columns` cells.
  std::string Line(const std::vector<std::string>& cells, std::size_t columns) const;

  const std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  bool titles_due_ = false;
};

// The first `max_width` characters of `text`, which went through ForTerminal.
std::string_view CutToWidth(std::string_view text, std::size_t max_width);

// A bar of `width` characters of which `part` (0 to 1) is filled: "[###.......]" has width 10.
std::string Gauge(double part, std::size_t width);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_TABLE_H_
