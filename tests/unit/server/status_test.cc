#include "server/status.h"

#include <gtest/gtest.h>

#include <string>

namespace ringshift {
namespace {

TEST(StatusTest, EachOfTheSeventeenCodesStaysItself) {
  const struct {
    absl::StatusCode absl_code;
    grpc::StatusCode grpc_code;
    std::string_view name;
  } kCodes[] = {
      {absl::StatusCode::kOk, grpc::StatusCode::OK, "OK"},
      {absl::StatusCode::kCancelled, grpc::StatusCode::CANCELLED, "CANCELLED"},
      {absl::StatusCode::kUnknown, grpc::StatusCode::UNKNOWN, "UNKNOWN"},
      {absl::StatusCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT, "INVALID_ARGUMENT"},
      {absl::StatusCode::kDeadlineExceeded, grpc::StatusCode::DEADLINE_EXCEEDED,
       "DEADLINE_EXCEEDED"},
      {absl::StatusCode::kNotFound, grpc::StatusCode::NOT_FOUND, "NOT_FOUND"},
      {absl::StatusCode::kAlreadyExists, grpc::StatusCode::ALREADY_EXISTS, "ALREADY_EXISTS"},
      {absl::StatusCode::kPermissionDenied, grpc::StatusCode::PERMISSION_DENIED,
       "PERMISSION_DENIED"},
      {absl::StatusCode::kResourceExhausted, grpc::StatusCode::RESOURCE_EXHAUSTED,
       "RESOURCE_EXHAUSTED"},
      {absl::StatusCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION,
       "FAILED_PRECONDITION"},
      {absl::StatusCode::kAborted, grpc::StatusCode::ABORTED, "ABORTED"},
      {absl::StatusCode::kOutOfRange, grpc::StatusCode::OUT_OF_RANGE, "OUT_OF_RANGE"},
      {absl::StatusCode::kUnimplemented, grpc::StatusCode::UNIMPLEMENTED, "UNIMPLEMENTED"},
      {absl::StatusCode::kInternal, grpc::StatusCode::INTERNAL, "INTERNAL"},
      {absl::StatusCode::kUnavailable, grpc::StatusCode::UNAVAILABLE, "UNAVAILABLE"},
      {absl::StatusCode::kDataLoss, grpc::StatusCode::DATA_LOSS, "DATA_LOSS"},
      {absl::StatusCode::kUnauthenticated, grpc::StatusCode::UNAUTHENTICATED, "UNAUTHENTICATED"},
  };
  static_assert(std::size(kCodes) == 17);
  for (const auto& [absl_code, grpc_code, name] : kCodes) {
    const grpc::Status status = ToGrpcStatus(absl::Status(absl_code, "why"));
    EXPECT_EQ(status.error_code(), grpc_code) << name;
    EXPECT_EQ(status.error_message(), grpc_code == grpc::StatusCode::OK ? "" : "why");
    EXPECT_EQ(absl::StatusCodeToString(absl_code), name);  // what labels show
  }
}

TEST(StatusTest, ACodeFromTheFutureIsUnknown) {
  EXPECT_EQ(ToGrpcStatus(absl::Status(static_cast<absl::StatusCode>(99), "why")).error_code(),
            grpc::StatusCode::UNKNOWN);
}

TEST(StatusTest, AMessageIsCutWhereItWouldNotFitTheMetadata) {
  const std::string fits(kMaxStatusMessageBytes, 'x');
  EXPECT_EQ(ToGrpcStatus(absl::NotFoundError(fits)).error_message(), fits);
  const grpc::Status cut = ToGrpcStatus(absl::NotFoundError(fits + "y"));
  EXPECT_EQ(cut.error_message(), fits.substr(0, kMaxStatusMessageBytes - 3) + "...");
}

TEST(StatusTest, AMessageIsNeverCutWithinACharacter) {
  std::string long_message(1, 'x');  // puts the two-byte characters on odd places
  while (long_message.size() <= kMaxStatusMessageBytes) long_message += "\xC3\xA9";
  const std::string cut = ToGrpcStatus(absl::NotFoundError(long_message)).error_message();
  EXPECT_LE(cut.size(), kMaxStatusMessageBytes);
  EXPECT_TRUE(cut.ends_with("\xC3\xA9..."));
}

}  // namespace
}  // namespace ringshift
