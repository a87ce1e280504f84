#include "server/status.h"

#include <string>
#include <string_view>

namespace ringshift {
namespace {

// Both number the codes alike; absl::Status::code() has none that gRPC does not know.
grpc::StatusCode ToGrpcCode(absl::StatusCode code) { return static_cast<grpc::StatusCode>(code); }

// The longest start of `text` of at most `limit` bytes that does not end within a UTF-8 character.
std::string_view CutUtf8(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return text.substr(0, limit);
}

}  // namespace

grpc::Status ToGrpcStatus(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const std::string_view message(status.message().data(), status.message().size());
  if (message.size() <= kMaxStatusMessageBytes) {
    return {ToGrpcCode(status.code()), std::string(message)};
  }
  constexpr std::string_view kEllipsis = "...";
  return {ToGrpcCode(status.code()),
          std::string(CutUtf8(message, kMaxStatusMessageBytes - kEllipsis.size())) +
              std::string(kEllipsis)};
}

}  // namespace ringshift
