// The figures of a suite: a table for people and a JSON object for programs.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_BENCH_FIGURES_H_
#define RINGSHIFT_TESTS_BENCH_FIGURES_H_

#include <optional>
#include <string>
#include <vector>

#include "tests/bench/pairs.h"

namespace ringshift::bench {

// What is promised of a value.
enum class Bound { kAtMost, kBelow, kAtLeast };
struct Target {
  double limit = 0;
  Bound bound = Bound::kAtMost;

  bool Holds(double value) const;
};

class Figures {
 public:
  // `name` is [a-z0-9_]+, and new; the value is finite. `note` is for people: the unit, what the
  // value was made of.
  void Add(const std::string& name, double value, const std::string& note,
           std::optional<Target> target = std::nullopt);

  // The ratio, with its spread; `unit` is that of both sides.
  void AddRatio(const std::string& name, const PairRatio& ratio, const std::string& unit,
                std::optional<Target> target = std::nullopt);

  // A line a figure, in the order in which they were added.
  std::string Table() const;
  // {"name": number, ...} in the same order, and a newline.
  std::string Json() const;

 private:
  struct Figure {
    std::string name;
    double value = 0;
    std::string note;
    std::optional<Target> target;
  };

  std::vector<Figure> figures_;
};

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_FIGURES_H_
