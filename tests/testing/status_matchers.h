// gtest matchers for absl::Status and StatusOr, under the names of Abseil's own, which Debian 12
// lacks.
//
//   EXPECT_THAT(status, IsOk());
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, HasSubstr("ams")));
//   EXPECT_THAT(status_or, IsOkAndHolds(Eq(3)));
//   ASSERT_OK_AND_ASSIGN(auto value, status_or);
#ifndef RINGSHIFT_TESTS_TESTING_STATUS_MATCHERS_H_
#define RINGSHIFT_TESTS_TESTING_STATUS_MATCHERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift::testing {

inline const absl::Status& GetStatus(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& status) {
  return status.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << GetStatus(arg).ToString();
  return arg.ok();
}

MATCHER_P2(StatusIs, code, message,
           std::string(negation ? "is not " : "is ") + absl::StatusCodeToString(code) +
               " with a message that " + ::testing::DescribeMatcher<std::string>(message)) {
  const absl::Status& status = GetStatus(arg);
  *result_listener << status.ToString();
  return status.code() == code &&
         ::testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

MATCHER_P(IsOkAndHolds, value, "") {
  if (!arg.ok()) {
    *result_listener << arg.status().ToString();
    return false;
  }
  return ::testing::ExplainMatchResult(value, *arg, result_listener);
}

}  // namespace ringshift::testing

#define RINGSHIFT_CONCAT_INNER_(a, b) a##b
#define RINGSHIFT_CONCAT_(a, b) RINGSHIFT_CONCAT_INNER_(a, b)
#define ASSERT_OK_AND_ASSIGN(declaration, expression) \
  ASSERT_OK_AND_ASSIGN_(RINGSHIFT_CONCAT_(status_or_, __LINE__), declaration, expression)
#define ASSERT_OK_AND_ASSIGN_(status_or, declaration, expression) \
  auto status_or = (expression);                                  \
  ASSERT_TRUE(status_or.ok()) << status_or.status().ToString();   \
  declaration = *std::move(status_or)

#endif  // RINGSHIFT_TESTS_TESTING_STATUS_MATCHERS_H_
