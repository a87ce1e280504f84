// Strict reading of a YAML tree: every refusal says the place, what was found and what was
// expected.
//
//   YamlReader reader("topology.yaml");
//   const YamlNode* name = nullptr;
//   const YamlNode* weight = nullptr;
//   absl::Status status = reader.ReadMap(node, "a node", {{"name", kRequired, &name},
//                                                         {"weight", kOptional, &weight}});
//
// Errors: INVALID_ARGUMENT, as ErrorAt gives them.
//
// Thread safety: immutable.
#ifndef RINGSHIFT_ROUTING_INTERNAL_YAML_READER_H_
#define RINGSHIFT_ROUTING_INTERNAL_YAML_READER_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "routing/internal/yaml_tree.h"

namespace ringshift::internal {

enum class Presence { kRequired, kOptional };
inline constexpr Presence kRequired = Presence::kRequired;
inline constexpr Presence kOptional = Presence::kOptional;

struct YamlField {
  std::string_view key;
  Presence presence;
  const YamlNode** value;  // untouched where the key is missing
};

class YamlReader {
 public:
  // `file` is what messages call the file.
  explicit YamlReader(std::string_view file) : file_(file) {}

  // "FILE:LINE:COLUMN".
  std::string PlaceName(Place place) const;

  absl::Status Error(Place place, std::string_view message) const {
    return ErrorAt(file_, place, message);
  }
  absl::Status Error(Place place, std::string_view found, std::string_view expected) const {
    return ErrorAt(file_, place, found, expected);
  }

  // `WHAT: found VALUE; expected EXPECTED`, at the value.
  absl::Status Unexpected(const YamlNode& node, std::string_view what,
                          std::string_view expected) const;

  // Refuses what is not a map, unknown and repeated keys, and the lack of a required one. `what`
  // has an article: "a node".
  absl::Status ReadMap(const YamlNode& node, std::string_view what,
                       std::initializer_list<YamlField> fields) const;

  // A text that has from 1 to `max_bytes` bytes, all of them letters, digits or in `others`.
  // `expected` says that.
  struct Alphabet {
    bool capitals;
    std::string_view others;
    std::size_t max_bytes;
    std::string_view expected;
  };
  absl::StatusOr<std::string> ReadName(const YamlNode& node, std::string_view what,
                                       const Alphabet& alphabet) const;

  // A text of 1 to `max_bytes` printable ASCII characters without spaces.
  absl::StatusOr<std::string> ReadToken(const YamlNode& node, std::string_view what,
                                        std::size_t max_bytes) const;

  // The whole number that the node writes in decimal digits, without quotes, sign or leading zeros;
  // none for anything else and beyond 2^64 - 1.
  static std::optional<std::uint64_t> WholeNumber(const YamlNode& node);

  absl::StatusOr<std::uint32_t> ReadWholeNumber(const YamlNode& node, std::string_view what,
                                                std::uint32_t min, std::uint32_t max) const;

 private:
  std::string_view file_;
};

// `"TEXT"` for a message: escaped, and cut where it is long.
std::string Quoted(std::string_view text);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_ROUTING_INTERNAL_YAML_READER_H_
