// One YAML document as a tree in which every value knows its place.
//
// Not all of YAML: a topology has no use for anchors, aliases and tags, and without aliases no
// small file can grow into a large tree.
//
// Thread safety: plain values, pure functions.
#ifndef RINGSHIFT_ROUTING_INTERNAL_YAML_TREE_H_
#define RINGSHIFT_ROUTING_INTERNAL_YAML_TREE_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift::internal {

// Where something stands in a file. Both count from 1; columns are bytes, as compilers count them.
struct Place {
  int line = 1;
  int column = 1;

  friend auto operator<=>(const Place&, const Place&) = default;
};

struct YamlNode {
  enum class Kind { kNull, kText, kList, kMap };

  Kind kind = Kind::kNull;
  Place place;
  bool quoted = false;          // a text in quotes, or a block text
  std::string text;             // of a kText
  std::vector<YamlNode> items;  // of a kList; of a kMap, each key with its value behind it
};

// The longest text that is read.
inline constexpr std::size_t kMaxYamlBytes = std::size_t{64} << 20;

// "FILE:LINE:COLUMN: MESSAGE", an INVALID_ARGUMENT.
absl::Status ErrorAt(std::string_view file, Place place, std::string_view message);

// The same with the message "FOUND; expected EXPECTED".
absl::Status ErrorAt(std::string_view file, Place place, std::string_view found,
                     std::string_view expected);

// For a file of more than kMaxYamlBytes.
absl::Status TooLargeError(std::string_view file, std::uintmax_t bytes);

// INVALID_ARGUMENT, as ErrorAt gives it: more than kMaxYamlBytes; bytes that are not UTF-8, control
// characters; text that is not YAML or is nested too deeply; no document or several; anchors,
// aliases and tags.
//
// Cost: linear in the text; the tree takes some 80 bytes a value.
absl::StatusOr<YamlNode> ParseYaml(std::string_view yaml, std::string_view file);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_ROUTING_INTERNAL_YAML_TREE_H_
