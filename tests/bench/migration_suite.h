// The suite `migration`: what a migration costs while it is under way.
// docs/benchmarks.md says what each figure means.
#ifndef RINGSHIFT_TESTS_BENCH_MIGRATION_SUITE_H_
#define RINGSHIFT_TESTS_BENCH_MIGRATION_SUITE_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "tests/bench/figures.h"

namespace ringshift::bench {

struct MigrationSuiteSize {
  std::size_t pairs = 0;     // of a ratio
  std::size_t calls = 0;     // of one measurement
  std::size_t keys = 0;      // different ones
  std::string_view case_1m;  // the case in the place of each, by its name
  std::string_view case_16m;
  std::size_t change_pairs = 0;   // of a ratio beside changes
  std::int32_t changes = 0;       // of the share, in one measurement; at most 1,000
  std::string_view case_changes;  // whose share is 0 at first
  std::string_view case_225m;     // the largest pair of rings
};

// What the figures are promised for.
inline constexpr MigrationSuiteSize kFullMigrationSize{15, 30'000, 500'000, "1m_half", "16m_half",
                                                       9,  1000,   "1m",    "204m"};
// Every step of it on rings of some hundred points, in seconds. Its figures mean nothing.
inline constexpr MigrationSuiteSize kSmokeMigrationSize{3, 200, 2'000,     "tiny", "tiny",
                                                        1, 5,   "tiny_v1", "tiny"};

// Adds the figures. An error, among them that of a wrong answer, ends the suite.
absl::Status RunMigrationSuite(const MigrationSuiteSize& size, Figures& figures);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_MIGRATION_SUITE_H_
