#include "client/ringctl/checks.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

std::string Quoted(const std::string& text) { return "\"" + ForTerminal(text) + "\""; }

}  // namespace

std::string CheckUtf8(const std::string& text) {
  return IsUtf8(text) ? "" : Quoted(text) + " is not UTF-8";
}

std::string CheckFileName(const std::string& text) {
  return text.empty() ? "the name of the file is empty" : "";
}

std::string CheckPercent(const std::string& text) {
  return std::string(Share::ParsePercent(text).status().message());
}

std::string CheckRatio(const std::string& text) {
  double value = 0;
  const bool is_number =
      text.find_first_not_of("0123456789.") == std::string::npos && absl::SimpleAtod(text, &value);
  if (is_number && value <= 1) return "";
  return Quoted(text) + " is not a ratio from 0 to 1: for example 0.95";
}

Check CheckOneOf(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& text) -> std::string {
    if (std::find(words.begin(), words.end(), text) != words.end()) return "";
    return absl::StrCat(Quoted(text), " is none of ", absl::StrJoin(words, ", "));
  };
}

Check CheckWholeNumber(std::int64_t low, std::int64_t high) {
  return [low, high](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const bool is_number = absl::SimpleAtoi(text, &value) && absl::StrCat(value) == text;
    if (is_number && low <= value && value <= high) return "";
    return absl::StrCat(Quoted(text), " is not a whole number from ", low, " to ", high);
  };
}

}  // namespace ringshift
