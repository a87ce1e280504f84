#include "migration/etcd/etcd_address.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "migration/internal/quote.h"

namespace ringshift {
namespace {

using internal::Quote;

constexpr std::string_view kScheme = "etcd://";
constexpr std::string_view kPrefixKey = "prefix=";

absl::Status Wrong(std::string_view text, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("the address of a store in etcd, ", Quote(text), ": ", what,
                   "; it is etcd://host:port[,host:port...][?prefix=/path/]"));
}

bool IsHostCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

// What is wrong with it; "" if nothing is.
std::string FaultOf(std::string_view endpoint) {
  if (endpoint.empty()) return "an endpoint is missing";
  const std::size_t colon = endpoint.rfind(':');
  std::string_view host = endpoint.substr(0, colon);
  if (colon == std::string_view::npos || (host.starts_with('[') && !host.ends_with(']'))) {
    return absl::StrCat("endpoint ", Quote(endpoint), " has no port");
  }
  const std::string_view port = endpoint.substr(colon + 1);
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc() || end != port.data() + port.size() || number < 1 || number > 65535) {
    return absl::StrCat("port ", Quote(port), " is not a number from 1 to 65535");
  }
  if (host.starts_with('[')) {
    host = host.substr(1, host.size() - 2);
    const bool is_ipv6 = std::all_of(host.begin(), host.end(), [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
             c == ':' || c == '.';
    });
    if (host.find(':') != std::string_view::npos && is_ipv6) return "";
  } else if (!host.empty() && std::all_of(host.begin(), host.end(), IsHostCharacter)) {
    return "";
  }
  return absl::StrCat("host ", Quote(host), " is neither a name nor an address");
}

}  // namespace

std::string ToText(const EtcdAddress& address) {
  return absl::StrCat("etcd://", absl::StrJoin(address.endpoints, ","), "?prefix=", address.prefix);
}

absl::StatusOr<EtcdAddress> ParseEtcdAddress(std::string_view text) {
  if (!text.starts_with(kScheme)) return Wrong(text, "it does not begin with etcd://");
  EtcdAddress address;
  std::string_view rest = text.substr(kScheme.size());
  const std::size_t question = rest.find('?');
  if (question != std::string_view::npos) {
    const std::string_view option = rest.substr(question + 1);
    if (!option.starts_with(kPrefixKey)) {
      return Wrong(text, absl::StrCat(Quote(option), " is not prefix=..., the only option"));
    }
    address.prefix = option.substr(kPrefixKey.size());
    const std::string& prefix = address.prefix;
    const bool is_plain = std::all_of(prefix.begin(), prefix.end(),
                                      [](char c) { return IsHostCharacter(c) || c == '/'; });
    if (prefix.size() < 3 || !prefix.starts_with('/') || !prefix.ends_with('/') || !is_plain) {
      return Wrong(text, absl::StrCat("prefix ", Quote(prefix),
                                      " does not begin and end with '/', with letters, digits, "
                                      "'.', '-' and '_' between"));
    }
    rest = rest.substr(0, question);
  }
  for (;;) {
    const std::size_t comma = rest.find(',');
    const std::string_view endpoint = rest.substr(0, comma);
    if (const std::string fault = FaultOf(endpoint); !fault.empty()) return Wrong(text, fault);
    if (std::find(address.endpoints.begin(), address.endpoints.end(), endpoint) !=
        address.endpoints.end()) {
      return Wrong(text, absl::StrCat("endpoint ", Quote(endpoint), " comes twice"));
    }
    address.endpoints.emplace_back(endpoint);
    if (comma == std::string_view::npos) return address;
    rest = rest.substr(comma + 1);
  }
}

}  // namespace ringshift
