#include "client/router_address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

bool IsGood(const std::string& address) {
  if (address.rfind("unix:", 0) == 0) return address.size() > 5;
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return false;
  const std::string host = address.substr(0, colon);
  const std::string port = address.substr(colon + 1);
  int number = 0;
  if (port.find_first_not_of("0123456789") != std::string::npos ||
      !absl::SimpleAtoi(port, &number) || number < 1 || number > 65'535) {
    return false;
  }
  if (std::any_of(host.begin(), host.end(),
                  [](char c) { return absl::ascii_iscntrl(static_cast<unsigned char>(c)); })) {
    return false;
  }
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return is_bracketed || (!host.empty() && host.find_first_of(":[]/ ") == std::string::npos);
}

}  // namespace

absl::Status CheckRouterAddress(const std::string& address) {
  if (IsGood(address)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("router \"", absl::CHexEscape(address),
                   "\" is not an address: write HOST:PORT, [IPv6]:PORT or unix:PATH"));
}

}  // namespace ringshift
