#include "routing/internal/yaml_reader.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace ringshift::internal {
namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kText:
      return node.quoted ? absl::StrCat("the quoted text ", Quoted(node.text)) : Quoted(node.text);
    case YamlNode::Kind::kList:
      return node.items.empty() ? "an empty list" : "a list";
    case YamlNode::Kind::kMap:
      return node.items.empty() ? "an empty map" : "a map";
  }
  return "";
}

std::string DescribeKeys(std::initializer_list<YamlField> fields) {
  std::vector<std::string> keys;
  for (const YamlField& field : fields) {
    keys.push_back(absl::StrCat(View(field.key), field.presence == kRequired ? " (required)" : ""));
  }
  return absl::StrCat("the keys ", absl::StrJoin(keys, ", "));
}

}  // namespace

std::string Quoted(std::string_view text) {
  constexpr std::size_t kShownBytes = 64;
  const std::string_view head = text.substr(0, kShownBytes);
  return absl::StrCat("\"", absl::CHexEscape(View(head)), head.size() < text.size() ? "..." : "",
                      "\"");
}

std::string YamlReader::PlaceName(Place place) const {
  return absl::StrCat(View(file_), ":", place.line, ":", place.column);
}

absl::Status YamlReader::Unexpected(const YamlNode& node, std::string_view what,
                                    std::string_view expected) const {
  return Error(node.place, absl::StrCat(View(what), ": found ", Describe(node)), expected);
}

absl::Status YamlReader::ReadMap(const YamlNode& node, std::string_view what,
                                 std::initializer_list<YamlField> fields) const {
  if (node.kind != YamlNode::Kind::kMap) {
    return Unexpected(node, what, absl::StrCat("a map with ", DescribeKeys(fields)));
  }
  std::vector<const YamlNode*> seen(fields.size(), nullptr);
  for (std::size_t i = 0; i < node.items.size(); i += 2) {
    const YamlNode& key = node.items[i];
    const YamlField* const field =
        key.kind != YamlNode::Kind::kText
            ? fields.end()
            : std::find_if(fields.begin(), fields.end(),
                           [&key](const YamlField& f) { return f.key == key.text; });
    if (field == fields.end()) {
      return Error(key.place, absl::StrCat("unknown key of ", View(what), ": ", Describe(key)),
                   DescribeKeys(fields));
    }
    const YamlNode*& first = seen[static_cast<std::size_t>(field - fields.begin())];
    if (first != nullptr) {
      return Error(key.place,
                   absl::StrCat("repeated key of ", View(what), ": ", Describe(key),
                                ", first given at ", PlaceName(first->place)),
                   "each key once");
    }
    first = &key;
    *field->value = &node.items[i + 1];
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const YamlField& field = fields.begin()[i];
    if (field.presence == kRequired && seen[i] == nullptr) {
      return Error(node.place,
                   absl::StrCat("the key ", View(field.key), " of ", View(what), " is missing"),
                   DescribeKeys(fields));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> YamlReader::ReadName(const YamlNode& node, std::string_view what,
                                                 const Alphabet& alphabet) const {
  const auto is_allowed = [&alphabet](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           (alphabet.capitals && c >= 'A' && c <= 'Z') ||
           alphabet.others.find(c) != std::string_view::npos;
  };
  if (node.kind != YamlNode::Kind::kText || node.text.empty() ||
      node.text.size() > alphabet.max_bytes ||
      !std::all_of(node.text.begin(), node.text.end(), is_allowed)) {
    return Unexpected(node, what, alphabet.expected);
  }
  return node.text;
}

absl::StatusOr<std::string> YamlReader::ReadToken(const YamlNode& node, std::string_view what,
                                                  std::size_t max_bytes) const {
  if (node.kind != YamlNode::Kind::kText || node.text.empty() || node.text.size() > max_bytes ||
      !std::all_of(node.text.begin(), node.text.end(),
                   [](char c) { return c > ' ' && c <= '~'; })) {
    return Unexpected(
        node, what, absl::StrCat("1 to ", max_bytes, " printable ASCII characters without spaces"));
  }
  return node.text;
}

std::optional<std::uint64_t> YamlReader::WholeNumber(const YamlNode& node) {
  const std::string& text = node.text;
  if (node.kind != YamlNode::Kind::kText || node.quoted || text.empty() ||
      text.find_first_not_of("0123456789") != std::string::npos ||
      (text.front() == '0' && text.size() > 1)) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  return number;
}

absl::StatusOr<std::uint32_t> YamlReader::ReadWholeNumber(const YamlNode& node,
                                                          std::string_view what, std::uint32_t min,
                                                          std::uint32_t max) const {
  const std::optional<std::uint64_t> number = WholeNumber(node);
  if (!number || *number < min || *number > max) {
    return Unexpected(node, what, absl::StrCat("a whole number from ", min, " to ", max));
  }
  return static_cast<std::uint32_t>(*number);
}

}  // namespace ringshift::internal
