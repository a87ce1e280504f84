#include "client/ringctl/selector.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "client/ringctl/checks.h"
#include "client/ringctl/text.h"

namespace ringshift {

void AddSelectorOptions(CLI::App& command, SelectorOptions& options) {
  command.add_option("--data-center", options.data_centers, "This one; may be given several times")
      ->type_name("NAME")
      ->check(CheckUtf8);
  command.add_option("--tier", options.tier, "All data centers of this tier")
      ->type_name("TIER")
      ->check(CheckUtf8);
  command.add_flag("--all", options.all, "All data centers that the router serves");
}

std::string CheckSelector(const SelectorOptions& options) {
  const int given = (options.data_centers.empty() ? 0 : 1) + (options.tier.empty() ? 0 : 1) +
                    (options.all ? 1 : 0);
  if (given == 1) return "";
  return given == 0 ? "no data center is named: give --data-center, --tier or --all"
                    : "--data-center, --tier and --all exclude each other";
}

v1::Selector SelectorOf(const SelectorOptions& options) {
  v1::Selector selector;
  for (const std::string& name : options.data_centers) selector.add_data_centers(name);
  selector.set_tier(options.tier);
  selector.set_all(options.all);
  return selector;
}

std::string NameDataCenters(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 10;
  if (names.size() == 1) return ForTerminal(names.front());
  std::string text = absl::StrCat(names.size(), " data centers (");
  const std::size_t named = std::min(names.size(), kNamed);
  for (std::size_t i = 0; i < named; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", ForTerminal(names[i]));
  }
  if (names.size() > named) absl::StrAppend(&text, " and ", names.size() - named, " more");
  return text + ")";
}

std::string NameDataCenters(const std::vector<v1::Migration>& migrations) {
  std::vector<std::string> names;
  for (const v1::Migration& migration : migrations) names.push_back(migration.data_center());
  return NameDataCenters(names);
}

std::string NameDataCenters(const SelectorOptions& options) {
  if (options.all) return "all data centers";
  if (!options.tier.empty()) return "tier " + ForTerminal(options.tier);
  return NameDataCenters(options.data_centers);
}

std::int64_t NewestRevision(const std::vector<v1::Migration>& migrations) {
  std::int64_t newest = 0;
  for (const v1::Migration& migration : migrations) {
    newest = std::max(newest, migration.revision());
  }
  return newest;
}

std::string LookCommand(const SelectorOptions& options) {
  return options.data_centers.size() == 1
             ? "ringctl migration get --data-center " + options.data_centers.front()
             : "ringctl migration list";
}

}  // namespace ringshift
