// Runs the real ringctl.
#ifndef RINGSHIFT_TESTS_INTEGRATION_RINGCTL_TESTING_H_
#define RINGSHIFT_TESTS_INTEGRATION_RINGCTL_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "tests/integration/process.h"

namespace ringshift::testing {

inline Completed Ringctl(std::vector<std::string> arguments, std::string input = "") {
  arguments.insert(arguments.begin(), Binary("ringctl"));
  return Run(arguments, std::move(input));
}

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_RINGCTL_TESTING_H_
