#include "server/outcome_reporters.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <system_error>

namespace ringshift {
namespace {

constexpr int kAddressBits = 128;
constexpr int kIpv4Bits = 32;

absl::Status NoReporters(std::string_view text, const std::string& why) {
  return absl::InvalidArgumentError("\"" + std::string(text.substr(0, 100)) + "\" " + why +
                                    "; expected none, loopback, any, or IP addresses and "
                                    "prefixes such as 10.0.0.0/8,2001:db8::/32");
}

// The IP address in a peer: "ipv4:10.0.0.1:443", "ipv6:%5B2001:db8::1%5D:443", the brackets quoted
// or not. "" if it has none.
std::string AddressOf(std::string_view peer) {
  const bool is_ipv6 = peer.starts_with("ipv6:");
  if (!is_ipv6 && !peer.starts_with("ipv4:")) return "";
  peer.remove_prefix(5);
  peer = peer.substr(0, peer.rfind(':'));
  if (!is_ipv6) return std::string(peer);
  for (const std::string_view open : {"%5B", "["}) {
    if (peer.starts_with(open)) peer.remove_prefix(open.size());
  }
  // A scope id is behind a '%', too.
  return std::string(peer.substr(0, peer.find_first_of("%]")));
}

}  // namespace

absl::StatusOr<OutcomeReporters> OutcomeReporters::Parse(std::string_view text) {
  OutcomeReporters reporters;
  if (text == "none") return reporters;
  if (text == "any") {
    reporters.any_ = true;
    return reporters;
  }
  if (text == "loopback") text = "127.0.0.0/8,::1";
  for (;;) {
    const std::size_t end = std::min(text.find(','), text.size());
    absl::StatusOr<Prefix> prefix = ParsePrefix(text.substr(0, end));
    if (!prefix.ok()) return prefix.status();
    reporters.prefixes_.push_back(*prefix);
    if (end == text.size()) return reporters;
    text.remove_prefix(end + 1);
  }
}

absl::StatusOr<OutcomeReporters::Prefix> OutcomeReporters::ParsePrefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view host = text.substr(0, slash);
  Prefix prefix;
  if (!ParseAddress(host, prefix.address)) return NoReporters(text, "has no IP address");
  const int before = host.find(':') == std::string_view::npos ? kAddressBits - kIpv4Bits : 0;
  prefix.bits = kAddressBits;
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    int bits = 0;
    const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
    if (error != std::errc() || rest != digits.data() + digits.size() || bits < 0 ||
        bits > kAddressBits - before) {
      return NoReporters(text, "has no length of a prefix, 0 to " +
                                   std::to_string(kAddressBits - before) + ", behind the /");
    }
    prefix.bits = before + bits;
  }
  for (int bit = prefix.bits; bit < kAddressBits; ++bit) {
    if ((prefix.address[static_cast<std::size_t>(bit / 8)] >> (7 - bit % 8) & 1) != 0) {
      return NoReporters(text, "has bits behind its prefix");
    }
  }
  return prefix;
}

bool OutcomeReporters::ParseAddress(std::string_view text, Address& address) {
  const std::string host(text);
  if (::inet_pton(AF_INET6, host.c_str(), address.data()) == 1) return true;
  address = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0, 0, 0, 0};
  return ::inet_pton(AF_INET, host.c_str(), address.data() + 12) == 1;
}

bool OutcomeReporters::IsIn(const Address& address, const Prefix& prefix) {
  for (int bit = 0; bit < prefix.bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    if (((address[byte] ^ prefix.address[byte]) >> (7 - bit % 8) & 1) != 0) return false;
  }
  return true;
}

absl::Status OutcomeReporters::Check(const std::string& peer) const {
  if (any_) return absl::OkStatus();
  const std::string host = AddressOf(peer);
  Address address{};
  if (ParseAddress(host, address) &&
      std::any_of(prefixes_.begin(), prefixes_.end(),
                  [&](const Prefix& prefix) { return IsIn(address, prefix); })) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError("the router takes no reports from " +
                                     (host.empty() ? peer : host) +
                                     ": its --outcome-reporters does not name that address");
}

}  // namespace ringshift
