#include "server/settings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "server/unique_fd.h"

namespace ringshift {
namespace {

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace

std::string VariableName(std::string_view name) {
  std::string variable = "RINGSHIFTD_";
  for (const char c : name) {
    variable += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return variable;
}

absl::StatusOr<Settings> ParseSettings(std::string_view text, const std::string& path,
                                       const std::vector<std::string>& names) {
  Settings settings;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;

    const std::string place = path + ":" + std::to_string(number) + ": ";
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      return absl::InvalidArgumentError(place + "\"" + std::string(line.substr(0, 100)) +
                                        "\" is not NAME=VALUE");
    }
    const std::string name(Trim(line.substr(0, equals)));
    const std::string value(Trim(line.substr(equals + 1)));
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return absl::InvalidArgumentError(place + "unknown setting \"" + name.substr(0, 100) +
                                        "\"; it is named as the flag, without the dashes");
    }
    if (value.empty()) {
      return absl::InvalidArgumentError(place + name + ": no value behind the =");
    }
    const auto [first, is_new] = settings.try_emplace(name, Setting{value, place + name});
    if (!is_new) {
      return absl::InvalidArgumentError(place + name + " is there twice: " + first->second.source);
    }
  }
  return settings;
}

absl::StatusOr<Settings> ReadSettingsFile(const std::string& path,
                                          const std::vector<std::string>& names) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return absl::NotFoundError(path + ": " + std::strerror(errno));
  std::string text(kMaxSettingsBytes + 1, '\0');
  std::size_t size = 0;
  for (ssize_t got = 1; got != 0 && size < text.size();) {
    got = ::read(fd.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno != EINTR) {
      return absl::NotFoundError(path + ": " + std::strerror(errno));
    }
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  if (size > kMaxSettingsBytes) {
    return absl::InvalidArgumentError(path + " has more than " + std::to_string(kMaxSettingsBytes) +
                                      " bytes");
  }
  text.resize(size);
  return ParseSettings(text, path, names);
}

}  // namespace ringshift
