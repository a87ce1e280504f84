#include "client/ringctl/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/ringctl/text.h"

namespace ringshift {

JsonWriter& JsonWriter::BeginObject() {
  BeforeValue();
  text_ += '{';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndObject() {
  text_ += '}';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::BeginArray() {
  BeforeValue();
  text_ += '[';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::EndArray() {
  text_ += ']';
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  BeforeValue();
  AppendQuoted(name);
  text_ += ':';
  needs_comma_ = false;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view text) {
  BeforeValue();
  AppendQuoted(text);
  return *this;
}

JsonWriter& JsonWriter::Int(std::int64_t value) {
  BeforeValue();
  text_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::Uint(std::uint64_t value) {
  BeforeValue();
  text_ += std::to_string(value);
  return *this;
}

JsonWriter& JsonWriter::Double(double value) {
  BeforeValue();
  if (!std::isfinite(value)) {
    text_ += "null";
    return *this;
  }
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  text_.append(digits.data(), result.ptr);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  text_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::RoutedKey(std::string_view key, bool as_hex) {
  return as_hex || !IsUtf8(key) ? Key("key_hex").String(ToHex(key)) : Key("key").String(key);
}

std::string JsonWriter::TakeLine() {
  needs_comma_ = false;
  text_ += '\n';
  return std::exchange(text_, {});
}

void JsonWriter::BeforeValue() {
  if (needs_comma_) text_ += ',';
  needs_comma_ = true;
}

void JsonWriter::AppendQuoted(std::string_view text) {
  text_ += '"';
  while (!text.empty()) {
    const Utf8Character character = FirstCharacter(text);
    if (!character.valid) {
      text_ += "\\ufffd";
    } else if (character.code == U'"' || character.code == U'\\') {
      text_ += '\\';
      text_ += text.front();
    } else if (IsControl(character.code)) {
      // Every control is below U+10000, so it needs no surrogates.
      absl::StrAppendFormat(&text_, "\\u%04x", static_cast<std::uint32_t>(character.code));
    } else {
      text_.append(text.substr(0, character.length));
    }
    text.remove_prefix(character.length);
  }
  text_ += '"';
}

}  // namespace ringshift
