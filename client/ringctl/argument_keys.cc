#include "client/ringctl/argument_keys.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "client/ringctl/text.h"

namespace ringshift {

absl::Status CheckNoOptions(const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument.size() > 1 && argument.front() == '-') {
      return absl::InvalidArgumentError("\"" + argument + "\" is no option");
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> DecodeKeys(const std::vector<std::string>& arguments,
                                                    bool hex) {
  if (!hex) return arguments;
  std::vector<std::string> keys(arguments.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const absl::Status decoded = DecodeHex(arguments[i], keys[i]);
    if (!decoded.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("key ", i + 1, ": ", decoded.message()));
    }
  }
  return keys;
}

}  // namespace ringshift
