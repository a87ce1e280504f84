#include "tests/bench/figures.h"

#include <cstdio>
#include <utility>

namespace ringshift::bench {
namespace {

std::string Number(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string Sign(Bound bound) {
  switch (bound) {
    case Bound::kAtMost:
      return "<= ";
    case Bound::kBelow:
      return "< ";
    case Bound::kAtLeast:
      return ">= ";
  }
  return "";
}

template <typename... Values>
std::string Line(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

bool Target::Holds(double value) const {
  switch (bound) {
    case Bound::kAtMost:
      return value <= limit;
    case Bound::kBelow:
      return value < limit;
    case Bound::kAtLeast:
      return value >= limit;
  }
  return false;
}

void Figures::Add(const std::string& name, double value, const std::string& note,
                  std::optional<Target> target) {
  figures_.push_back({name, value, note, target});
}

void Figures::AddRatio(const std::string& name, const PairRatio& ratio, const std::string& unit,
                       std::optional<Target> target) {
  Add(name, ratio.median,
      Line("%s against %s %s; %zu pairs, half of them %.3f to %.3f", Number(ratio.measured).c_str(),
           Number(ratio.reference).c_str(), unit.c_str(), ratio.pairs, ratio.lower_quartile,
           ratio.upper_quartile),
      target);
}

std::string Figures::Table() const {
  std::string table = Line("%-30s %12s %9s %-7s %s\n", "FIGURE", "VALUE", "PROMISED", "", "OF");
  for (const Figure& figure : figures_) {
    std::string promised;
    const char* verdict = "";
    if (figure.target) {
      promised = Sign(figure.target->bound) + Number(figure.target->limit);
      verdict = figure.target->Holds(figure.value) ? "kept" : "MISSED";
    }
    table += Line("%-30s %12s %9s %-7s ", figure.name.c_str(), Number(figure.value).c_str(),
                  promised.c_str(), verdict) +
             figure.note + "\n";
  }
  return table;
}

std::string Figures::Json() const {
  std::string json = "{";
  for (const Figure& figure : figures_) {
    if (json.size() > 1) json += ",";
    json += "\n  \"" + figure.name + "\": " + Number(figure.value);
  }
  return json + "\n}\n";
}

}  // namespace ringshift::bench
