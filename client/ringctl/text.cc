#include "client/ringctl/text.h"

#include <array>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"

namespace ringshift {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

// -1 if `c` is not a hex digit.
int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Utf8Character FirstCharacter(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const Utf8Character invalid{first, 1, false};
  // Lead bytes C0, C1 and F5 upwards never occur.
  if (first < 0xC2 || first > 0xF4) return invalid;
  const std::size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < length) return invalid;
  char32_t code = first & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid;
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kLowest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLowest[length] || surrogate || code > 0x10FFFF) return invalid;
  return {code, length, true};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (!character.valid) return false;
    text.remove_prefix(character.length);
  }
  return true;
}

bool IsControl(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||        // C0, DEL, C1
         code == 0x061C || code == 0x200E || code == 0x200F ||  // direction marks
         (code >= 0x2028 &&
          code <= 0x202E) ||  // line and paragraph separators, embeddings, overrides
         (code >= 0x2066 && code <= 0x2069);  // isolates
}

std::string ForTerminal(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (character.valid && !IsControl(character.code)) {
      safe.append(text.substr(0, character.length));
    } else if (character.code == U'\n') {
      safe += "\\n";
    } else if (character.code == U'\t') {
      safe += "\\t";
    } else if (character.code == U'\r') {
      safe += "\\r";
    } else if (character.length == 1) {
      safe += "\\x";
      safe += kHexDigits[character.code >> 4];
      safe += kHexDigits[character.code & 0xF];
    } else {
      absl::StrAppendFormat(&safe, "\\u{%04x}", static_cast<std::uint32_t>(character.code));
    }
    text.remove_prefix(character.length);
  }
  return safe;
}

std::string ToHex(std::string_view bytes) {
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex += kHexDigits[byte >> 4];
    hex += kHexDigits[byte & 0xF];
  }
  return hex;
}

absl::Status DecodeHex(std::string_view hex, std::string& bytes) {
  bytes.clear();
  for (std::size_t i = 0; i < hex.size(); ++i) {
    if (HexValue(hex[i]) < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("character ", i + 1, " is not a hex digit: '",
                       ForTerminal(hex.substr(i, FirstCharacter(hex.substr(i)).length)), "'"));
    }
  }
  if (hex.size() % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("an odd number of hex digits: ", hex.size()));
  }
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(HexValue(hex[i]) * 16 + HexValue(hex[i + 1]));
  }
  return absl::OkStatus();
}

std::string HumanCount(std::uint64_t count) {
  const std::string digits = std::to_string(count);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string HumanBytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {" B", " KiB", " MiB", " GiB", " TiB"};
  if (bytes < 1024) return absl::StrCat(bytes, " B");
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.95 would be rounded to "1024.0".
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return FixedPoint(value, 1).append(kUnits[unit]);
}

std::string FixedPoint(double value, int decimals) {
  return absl::StrFormat("%.*f", decimals, value);
}

absl::StatusOr<absl::Duration> ParseTimeout(std::string_view text) {
  absl::Duration duration;
  if (!absl::ParseDuration(absl::string_view(text.data(), text.size()), &duration)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", ForTerminal(text),
                     "\" is not a duration: write a number and ms, s, m or h, as in 500ms or 5s"));
  }
  if (duration < absl::Milliseconds(1) || duration > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", ForTerminal(text), "\" is out of range: at least 1ms, at most 24h"));
  }
  return duration;
}

}  // namespace ringshift
