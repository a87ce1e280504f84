#include "client/ringctl/confirm_selected.h"

#include "client/ringctl/confirm.h"

namespace ringshift {

ExitCode ConfirmSelected(bool yes, const SelectorOptions& selector, Remote& remote,
                         MigrationClient& client,
                         const std::function<std::string(const std::string& names)>& question,
                         std::vector<v1::Migration>& migrations) {
  const ExitCode may = CheckCanConfirm(yes);
  if (may != ExitCode::kOk) return may;
  const grpc::Status status = client.Select(SelectorOf(selector), migrations);
  if (!status.ok()) return remote.FailCall(status);
  return Confirm(yes, question(NameDataCenters(migrations)), remote);
}

}  // namespace ringshift
