#include "client/ringctl/table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "client/ringctl/text.h"

namespace ringshift {
namespace {

constexpr std::string_view kGap = "  ";  // between columns

// REQUIRES: `text` went through ForTerminal
std::size_t CharacterCount(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(FirstCharacter(text).length);
  return count;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) {
    widths_.push_back(CharacterCount(column.title));
    titles_due_ = titles_due_ || !column.title.empty();
  }
}

void Table::AddRow(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cells[i] = ForTerminal(cells[i]);
    widths_[i] = std::max(widths_[i], CharacterCount(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

void Table::Print(Output& output) {
  for (std::string& line : TakeLines(std::numeric_limits<std::size_t>::max())) {
    line += '\n';
    output.Write(line);
  }
}

std::vector<std::string> Table::TakeLines(std::size_t max_width) {
  std::size_t columns = 1;
  for (std::size_t width = widths_[0]; columns < columns_.size(); ++columns) {
    width += kGap.size() + widths_[columns];
    if (width > max_width) break;
  }
  std::vector<std::string> lines;
  if (titles_due_) {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.push_back(column.title);
    lines.push_back(Line(titles, columns));
    titles_due_ = false;
  }
  for (const std::vector<std::string>& row : rows_) lines.push_back(Line(row, columns));
  rows_.clear();
  return lines;
}

std::string Table::Line(const std::vector<std::string>& cells, std::size_t columns) const {
  std::string line;
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string padding(widths_[i] - CharacterCount(cells[i]), ' ');
    if (i > 0) line += kGap;
    line += columns_[i].align == kRight ? padding + cells[i] : cells[i] + padding;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string_view CutToWidth(std::string_view text, std::size_t max_width) {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < max_width && bytes < text.size(); ++i) {
    bytes += FirstCharacter(text.substr(bytes)).length;
  }
  return text.substr(0, bytes);
}

std::string Gauge(double part, std::size_t width) {
  const double cells = std::clamp(part, 0.0, 1.0) * static_cast<double>(width);
  // A little is not nothing, and not quite all is not all.
  std::size_t filled = static_cast<std::size_t>(std::lround(cells));
  if (part > 0) filled = std::max<std::size_t>(filled, 1);
  if (part < 1) filled = std::min(filled, width - 1);
  return "[" + std::string(filled, '#') + std::string(width - filled, '.') + "]";
}

}  // namespace ringshift
