#include "ring/ring_identity.h"

#include <arpa/inet.h>

#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace ringshift {
namespace {

using Ipv6Groups = std::array<std::uint16_t, 8>;

// RFC 5952 text, as Rust's Ipv6Addr prints it: the longest run of at least two zero groups (the
// first of equals) is "::", and only ::ffff:0:0/96 has a dotted tail. (inet_ntop also dots ::/96.)
std::string FormatIpv6(const Ipv6Groups& groups) {
  const auto append_hex = [](std::string& text, std::uint16_t group) {
    char digits[4];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, group, 16).ptr);
  };
  const bool mapped = groups[5] == 0xFFFF && groups[0] == 0 && groups[1] == 0 && groups[2] == 0 &&
                      groups[3] == 0 && groups[4] == 0;
  if (mapped) {
    return absl::StrCat("::ffff:", groups[6] >> 8, ".", groups[6] & 0xFF, ".", groups[7] >> 8, ".",
                        groups[7] & 0xFF);
  }
  std::size_t run_begin = 0, run_length = 0;
  for (std::size_t begin = 0; begin < groups.size();) {
    std::size_t end = begin;
    while (end < groups.size() && groups[end] == 0) ++end;
    if (end - begin > run_length) run_begin = begin, run_length = end - begin;
    begin = end + 1;
  }
  if (run_length < 2) run_begin = groups.size(), run_length = 0;

  std::string text;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (run_length > 0 && i == run_begin) {
      text += "::";
      i += run_length - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    append_hex(text, groups[i]);
  }
  return text;
}

std::optional<std::array<unsigned char, 4>> ParseIpv4(const std::string& text) {
  std::array<unsigned char, 4> bytes;
  if (inet_pton(AF_INET, text.c_str(), bytes.data()) != 1) return std::nullopt;
  return bytes;
}

std::optional<std::array<unsigned char, 16>> ParseIpv6(const std::string& text) {
  std::array<unsigned char, 16> bytes;
  if (inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1) return std::nullopt;
  return bytes;
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The port in canonical decimal, or none if `text` is not 1 to 65535 in decimal.
std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  if (!IsDigits(text)) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || port == 0) return std::nullopt;
  return port;
}

absl::Status BadAddress(std::string_view address, std::string_view problem) {
  constexpr std::size_t kQuotedBytes = 80;
  const std::string_view head = address.substr(0, kQuotedBytes);
  return absl::InvalidArgumentError(
      absl::StrCat("address \"", absl::CHexEscape(absl::string_view(head.data(), head.size())),
                   head.size() < address.size() ? "\"... " : "\" ",
                   absl::string_view(problem.data(), problem.size())));
}

// Letters, digits and what else stands in host names; no colon, bracket, space or byte above 0x7E.
bool IsHostName(std::string_view host) {
  if (host.empty()) return false;
  for (const char c : host) {
    const bool letter_or_digit =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter_or_digit && c != '.' && c != '-' && c != '_') return false;
  }
  return true;
}

struct HostAndPort {
  std::string host;
  std::string port;
};

constexpr std::string_view kCanonicalForm =
    "is not HOST:PORT: expected an IPv4 address, an IPv6 address in brackets or a host name, and a "
    "port "
    "of 1 to 65535";

absl::StatusOr<HostAndPort> SplitCanonical(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return BadAddress(address, kCanonicalForm);
  const std::optional<std::uint16_t> port = ParsePort(address.substr(colon + 1));
  if (!port) return BadAddress(address, "has no port of 1 to 65535 behind its last colon");
  std::string host(address.substr(0, colon));

  if (!host.empty() && host.front() == '[') {
    if (host.back() != ']') return BadAddress(address, kCanonicalForm);
    host = host.substr(1, host.size() - 2);
    // A scope id names an interface of one machine: it is no part of the identity.
    if (const std::size_t scope = host.find('%'); scope != std::string::npos) {
      if (!IsHostName(std::string_view(host).substr(scope + 1))) {
        return BadAddress(address, "has a malformed scope id behind '%'");
      }
      host.resize(scope);
    }
    const auto bytes = ParseIpv6(host);
    if (!bytes) return BadAddress(address, "has no valid IPv6 address between its brackets");
    Ipv6Groups groups;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      groups[i] = static_cast<std::uint16_t>((*bytes)[2 * i] << 8 | (*bytes)[2 * i + 1]);
    }
    return HostAndPort{FormatIpv6(groups), absl::StrCat(*port)};
  }
  if (ParseIpv6(host)) {
    return BadAddress(address, "has a bare IPv6 address: put it in brackets, \"[ADDRESS]:PORT\"");
  }
  if (!IsHostName(host)) return BadAddress(address, kCanonicalForm);
  if (host.find_first_not_of("0123456789.") == std::string::npos && !ParseIpv4(host)) {
    return BadAddress(address,
                      "looks like an IPv4 address and is none: expected four numbers of 0 to 255 "
                      "without leading zeros");
  }
  return HostAndPort{std::move(host), absl::StrCat(*port)};
}

absl::StatusOr<HostAndPort> SplitNginx(std::string_view address) {
  for (const char c : address) {
    if (c <= ' ' || c > '~') {
      return BadAddress(address, "has a byte that a server directive of nginx cannot have");
    }
  }
  constexpr std::size_t kSchemeBytes = 5;
  if (absl::EqualsIgnoreCase(std::string(address.substr(0, kSchemeBytes)), "unix:")) {
    if (address.size() == kSchemeBytes) return BadAddress(address, "has no path behind \"unix:\"");
    return HostAndPort{std::string(address.substr(kSchemeBytes)), ""};
  }
  const std::size_t colon = address.rfind(':');
  HostAndPort parts{std::string(address), ""};
  if (colon != std::string_view::npos &&
      (colon + 1 == address.size() || IsDigits(address.substr(colon + 1)))) {
    parts = {std::string(address.substr(0, colon)), std::string(address.substr(colon + 1))};
    if (!ParsePort(parts.port)) return BadAddress(address, "has a port outside 1 to 65535");
  }
  if (parts.host.empty()) return BadAddress(address, "has no host");
  return parts;
}

// Bytes that compare as identities are ordered: kind, address, port. Empty parts where the host is
// a name.
std::string OrderKey(const std::string& host, const std::string& port) {
  const std::uint16_t port_number = ParsePort(port).value_or(0);
  const auto make = [port_number](char kind, const auto& bytes) {
    std::string key(1, kind);
    key.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    key += static_cast<char>(port_number >> 8);
    key += static_cast<char>(port_number & 0xFF);
    return key;
  };
  if (const auto ipv4 = ParseIpv4(host)) return make('\1', *ipv4);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (const auto ipv6 = ParseIpv6(bracketed ? host.substr(1, host.size() - 2) : host)) {
    return make('\2', *ipv6);
  }
  return std::string(1, '\3');
}

}  // namespace

RingIdentity::RingIdentity(std::string host, std::string port)
    : bytes_(absl::StrCat(host, absl::string_view("\0", 1), port)),
      order_key_(OrderKey(host, port)) {}

absl::StatusOr<RingIdentity> RingIdentity::Parse(std::string_view address, IdentityStyle style) {
  absl::StatusOr<HostAndPort> parts =
      style == IdentityStyle::kNginx ? SplitNginx(address) : SplitCanonical(address);
  if (!parts.ok()) return parts.status();
  return RingIdentity(std::move(parts->host), std::move(parts->port));
}

std::string RingIdentity::ToString() const {
  const std::size_t nul = bytes_.rfind('\0');
  const std::string host = bytes_.substr(0, nul);
  const std::string port = bytes_.substr(nul + 1);
  const bool bare_ipv6 =
      host.front() != '[' && host.find(':') != std::string::npos && !port.empty();
  return absl::StrCat(bare_ipv6 ? "[" : "", host, bare_ipv6 ? "]" : "", port.empty() ? "" : ":",
                      port);
}

std::strong_ordering operator<=>(const RingIdentity& a, const RingIdentity& b) {
  // std::string compares as unsigned bytes.
  if (const auto order = a.order_key_ <=> b.order_key_; order != 0) return order;
  return a.bytes_ <=> b.bytes_;
}

}  // namespace ringshift
