#include "routing/internal/yaml_tree.h"

#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <cstdint>
#include <exception>
#include <istream>
#include <optional>
#include <streambuf>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace ringshift::internal {
namespace {

absl::string_view View(std::string_view s) { return {s.data(), s.size()}; }

Place PlaceOf(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

// The length of the UTF-8 character at the start of `bytes`, 0 if there is none: overlong forms,
// surrogates and what lies beyond U+10FFFF are no characters.
std::size_t Utf8Length(std::string_view bytes) {
  const auto byte = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  if (first == 0xE0 && second < 0xA0) return 0;
  if (first == 0xED && second > 0x9F) return 0;
  if (first == 0xF0 && second < 0x90) return 0;
  if (first == 0xF4 && second > 0x8F) return 0;
  return length;
}

// yaml-cpp would guess at other encodings, and takes byte 4 for the end of the file.
absl::Status CheckBytes(std::string_view yaml, std::string_view file) {
  Place place;
  for (std::size_t i = 0; i < yaml.size();) {
    const auto byte = static_cast<unsigned char>(yaml[i]);
    const std::size_t length = Utf8Length(yaml.substr(i));
    if (length == 0) {
      return ErrorAt(file, place, absl::StrCat("byte 0x", absl::Hex(byte), " is not UTF-8"),
                     "UTF-8 text");
    }
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F) {
      return ErrorAt(file, place,
                     absl::StrCat("control character 0x", absl::Hex(byte, absl::kZeroPad2)),
                     "text without control characters");
    }
    place.column += static_cast<int>(length);
    if (byte == '\n') place = {place.line + 1, 1};
    i += length;
  }
  return absl::OkStatus();
}

// Reads from bytes that somebody else keeps.
class ViewBuffer final : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view bytes) {
    char* const begin = const_cast<char*>(bytes.data());  // setg's type; a get area is only read
    setg(begin, begin, begin + bytes.size());
  }
};

// Builds the tree. The parser cannot be stopped from here, so after the first error events are
// ignored.
class TreeBuilder final : public YAML::EventHandler {
 public:
  struct Error {
    Place place;
    std::string found;
    std::string expected;
  };

  const std::optional<Error>& error() const { return error_; }
  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Add(YamlNode::Kind::kNull, mark, "", anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Fail(mark, "an alias (*...)", "the value itself: a topology has no aliases");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    if (YamlNode* node = Add(YamlNode::Kind::kText, mark, tag, anchor)) {
      node->text = value;
      node->quoted = tag == kNonPlainTag;
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (YamlNode* node = Add(YamlNode::Kind::kList, mark, tag, anchor)) open_.push_back(node);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (YamlNode* node = Add(YamlNode::Kind::kMap, mark, tag, anchor)) open_.push_back(node);
  }
  void OnMapEnd() override { Close(); }

 private:
  // The parser's own marks where the file has no tag.
  static constexpr std::string_view kPlainTag = "?";
  static constexpr std::string_view kNonPlainTag = "!";

  // Null after an error.
  YamlNode* Add(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor) {
    if (anchor != 0)
      Fail(mark, "an anchor (&...)", "a value without one: a topology has no aliases");
    if (!tag.empty() && tag != kPlainTag && tag != kNonPlainTag) {
      Fail(mark, "a tag (!...)", "a value without one");
    }
    if (error_) return nullptr;
    YamlNode* node = &root_;
    Place place = PlaceOf(mark);
    if (!open_.empty()) {
      std::vector<YamlNode>& siblings = open_.back()->items;
      // The place of a value that is not there is that of whatever follows: point to its key
      // instead.
      const bool is_value = open_.back()->kind == YamlNode::Kind::kMap && siblings.size() % 2 == 1;
      if (kind == YamlNode::Kind::kNull && is_value) place = siblings.back().place;
      // Moves only closed siblings: an open node is always its parent's last.
      node = &siblings.emplace_back();
    }
    node->kind = kind;
    node->place = place;
    return node;
  }
  void Close() {
    if (!error_) open_.pop_back();
  }
  void Fail(const YAML::Mark& mark, std::string found, std::string expected) {
    if (!error_) error_ = Error{PlaceOf(mark), std::move(found), std::move(expected)};
  }

  YamlNode root_;
  std::vector<YamlNode*> open_;
  std::optional<Error> error_;
};

// Finds the start of a second document.
class DocumentFinder final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { place_ = PlaceOf(mark); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  Place place() const { return place_; }

 private:
  Place place_;
};

constexpr std::size_t kShownBytes = 200;  // of a message that may quote the file
constexpr std::string_view kATopology = "a topology: a map with the key data_centers";

}  // namespace

absl::Status ErrorAt(std::string_view file, Place place, std::string_view message) {
  return absl::InvalidArgumentError(
      absl::StrCat(View(file), ":", place.line, ":", place.column, ": ", View(message)));
}

absl::Status ErrorAt(std::string_view file, Place place, std::string_view found,
                     std::string_view expected) {
  return ErrorAt(file, place, absl::StrCat(View(found), "; expected ", View(expected)));
}

absl::Status TooLargeError(std::string_view file, std::uintmax_t bytes) {
  return ErrorAt(file, Place{}, absl::StrCat("found ", bytes, " bytes"),
                 absl::StrCat("a topology of at most ", kMaxYamlBytes));
}

absl::StatusOr<YamlNode> ParseYaml(std::string_view yaml, std::string_view file) {
  if (yaml.size() > kMaxYamlBytes) return TooLargeError(file, yaml.size());
  if (absl::Status status = CheckBytes(yaml, file); !status.ok()) return status;

  ViewBuffer buffer(yaml);
  std::istream stream(&buffer);
  TreeBuilder builder;
  try {
    YAML::Parser parser(stream);
    const bool found = parser.HandleNextDocument(builder);
    if (!found) return ErrorAt(file, Place{}, "found nothing", kATopology);
    if (!builder.error()) {
      DocumentFinder second;
      if (parser.HandleNextDocument(second)) {
        return ErrorAt(file, second.place(), "a second YAML document", "one document in a file");
      }
    }
  } catch (const YAML::DeepRecursion& e) {
    if (!builder.error()) {
      return ErrorAt(file, PlaceOf(e.mark), "YAML nested too deeply", kATopology);
    }
  } catch (const YAML::Exception& e) {
    if (!builder.error()) {
      return ErrorAt(
          file, PlaceOf(e.mark),
          absl::StrCat("not YAML (", absl::CHexEscape(e.msg.substr(0, kShownBytes)), ")"),
          kATopology);
    }
  }
  if (const auto& error = builder.error()) {
    return ErrorAt(file, error->place, absl::StrCat("found ", error->found), error->expected);
  }
  return builder.TakeRoot();
}

}  // namespace ringshift::internal
