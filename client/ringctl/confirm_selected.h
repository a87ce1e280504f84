// What the commands begin with that change the data centers of a selector.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_CONFIRM_SELECTED_H_
#define RINGSHIFT_CLIENT_RINGCTL_CONFIRM_SELECTED_H_

#include <functional>
#include <string>
#include <vector>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/remote.h"
#include "client/ringctl/selector.h"

namespace ringshift {

// Reads `migrations`, those that `selector` names, and has a person confirm `question`, which gets
// NameDataCenters of them, unless `yes`. Not kOk where the command is to end; that was said.
ExitCode ConfirmSelected(bool yes, const SelectorOptions& selector, Remote& remote,
                         MigrationClient& client,
                         const std::function<std::string(const std::string& names)>& question,
                         std::vector<v1::Migration>& migrations);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_CONFIRM_SELECTED_H_
