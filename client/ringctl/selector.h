// Which data centers a command is about.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_SELECTOR_H_
#define RINGSHIFT_CLIENT_RINGCTL_SELECTOR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ringshift/v1/migration.pb.h"

namespace CLI {
class App;
}

namespace ringshift {

// Exactly one of them is given.
struct SelectorOptions {
  std::vector<std::string> data_centers;
  std::string tier;
  bool all = false;
};

// Adds --data-center, --tier and --all to `command`.
void AddSelectorOptions(CLI::App& command, SelectorOptions& options);

// What is wrong with the options together; "" if nothing is.
std::string CheckSelector(const SelectorOptions& options);

v1::Selector SelectorOf(const SelectorOptions& options);

// "ams", "3 data centers (ams, fra, lhr)"; beyond ten of them "and 2 more". Went through
// ForTerminal.
std::string NameDataCenters(const std::vector<std::string>& names);
std::string NameDataCenters(const std::vector<v1::Migration>& migrations);

// The same of a selector: "ams", "tier canary", "all data centers".
std::string NameDataCenters(const SelectorOptions& options);

// The newest revision that one of them has; 0 if there are none.
std::int64_t NewestRevision(const std::vector<v1::Migration>& migrations);

// The command that shows the migrations of a selector: `ringctl migration get ...` or `list`.
std::string LookCommand(const SelectorOptions& options);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_SELECTOR_H_
