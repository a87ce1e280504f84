#include "client/router_address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"

namespace ringshift {

bool IsRouterAddress(const std::string& address) {
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

}  // namespace ringshift
