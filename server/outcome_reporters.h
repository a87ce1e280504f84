// Who may report outcomes: `--outcome-reporters`.
//
// Thread safety: a value; const methods may be called from any thread.
#ifndef RINGSHIFT_SERVER_OUTCOME_REPORTERS_H_
#define RINGSHIFT_SERVER_OUTCOME_REPORTERS_H_

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift {

class OutcomeReporters {
 public:
  // Nobody.
  OutcomeReporters() = default;

  // Reads "none", "loopback", "any", or addresses and prefixes:
  // "10.0.0.0/8,2001:db8::/32,192.0.2.7". INVALID_ARGUMENT quotes what is none of these, and says
  // what was expected.
  static absl::StatusOr<OutcomeReporters> Parse(std::string_view text);

  // OK, or PERMISSION_DENIED with the address and the flag. `peer` is as grpc::ServerContext::peer
  // has it.
  absl::Status Check(const std::string& peer) const;

 private:
  using Address = std::array<unsigned char, 16>;  // IPv4 as ::ffff:A.B.C.D
  struct Prefix {
    Address address;
    int bits = 0;
  };

  static bool ParseAddress(std::string_view text, Address& address);
  static absl::StatusOr<Prefix> ParsePrefix(std::string_view text);
  static bool IsIn(const Address& address, const Prefix& prefix);

  bool any_ = false;
  std::vector<Prefix> prefixes_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_OUTCOME_REPORTERS_H_
