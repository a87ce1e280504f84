#include "client/set_migration.h"

#include <pwd.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "client/json_writer.h"
#include "client/migration_client.h"
#include "client/migration_view.h"
#include "client/output.h"
#include "client/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

// USER@HOST, of this process.
std::string RequestedBy() {
  const passwd* user = ::getpwuid(::getuid());
  const std::string name =
      user != nullptr ? std::string(user->pw_name) : absl::StrCat("uid-", ::getuid());
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) return ForTerminal(name) + "@unknown";
  return ForTerminal(name + "@" + host.data());
}

// True if a person at the terminal says yes.
bool Confirm(const std::string& question) {
  const std::string prompt = question + " [y/N] ";
  std::fwrite(prompt.data(), 1, prompt.size(), stderr);
  std::array<char, 64> answer{};
  if (std::fgets(answer.data(), static_cast<int>(answer.size()), stdin) == nullptr) return false;
  const std::string_view text = answer.data();
  return text == "y\n" || text == "Y\n" || text == "yes\n" || text == "YES\n" || text == "Yes\n";
}

// Says that `seen` is not what is there any more, and what is.
ExitCode FailChanged(std::int64_t seen, const v1::Migration& now) {
  return Fail(ExitCode::kRefused,
              absl::StrCat("nothing was changed, because ", now.data_center(), " is at revision ",
                           now.revision(), " and not at ", seen,
                           " any more: ", PercentOfPpm(now.v2_ppm()), " since ", UpdateTime(now),
                           ", by ", now.actor(), ", reason \"", now.reason(), "\""),
              "decide again from there");
}

// True where `code` says that nothing was changed. After every other error the router may have made
// the change: the connection broke, or it failed on the way.
bool IsRefusal(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return true;
    default:
      return false;
  }
}

ExitCode FailSet(const Remote& remote, const grpc::Status& status, std::int64_t expected_revision,
                 MigrationClient& client, const std::string& data_center) {
  v1::Migration now;
  if (status.error_code() == grpc::StatusCode::ABORTED && client.Get(data_center, now).ok()) {
    return FailChanged(expected_revision, now);
  }
  const ExitCode code = remote.FailCall(status);
  if (IsRefusal(status.error_code())) return code;
  return Fail(ExitCode::kUnknown,
              absl::StrCat("it is not known whether the share of ", data_center, " was changed"),
              absl::StrCat("look with `ringctl migration get --data-center ", data_center,
                           " --server ", remote.server(), "`"));
}

ExitCode PrintResult(const SetMigrationOptions& options, const v1::SetMigrationResponse& response) {
  Output output(STDOUT_FILENO);
  if (options.json) {
    JsonWriter json;
    json.BeginObject();
    json.Key("previous_v2_ppm").Int(response.previous_v2_ppm());
    json.Key("migration");
    WriteMigration(response.migration(), json);
    json.EndObject();
    output.Write(json.TakeLine());
  } else {
    output.Write(absl::StrCat(ForTerminal(response.migration().data_center()), ": ",
                              PercentOfPpm(response.previous_v2_ppm()), " -> ",
                              PercentOfPpm(response.migration().v2_ppm()), ", revision ",
                              response.migration().revision(), "\n"));
  }
  return output.Finish();
}

}  // namespace

ExitCode SetMigration(const SetMigrationOptions& options) {
  const Share share = Share::ParsePercent(options.percent).value();
  if (!options.yes && (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0)) {
    return Fail(ExitCode::kDeclined, "nothing was changed: there is no terminal to ask on",
                "give --yes to change it without being asked");
  }

  Remote remote(options.remote);
  MigrationClient client(remote);
  v1::Migration before;
  grpc::Status status = client.Get(options.data_center, before);
  if (!status.ok()) return remote.FailCall(status);
  const std::int64_t expected_revision = options.expected_revision.value_or(before.revision());
  if (expected_revision != before.revision()) return FailChanged(expected_revision, before);

  if (!options.yes) {
    const std::string question =
        absl::StrCat("Change the share of v2 in ", ForTerminal(before.data_center()), " from ",
                     PercentOfPpm(before.v2_ppm()), " to ", share.ToPercent(), "%?");
    if (!Confirm(question)) {
      return Fail(ExitCode::kDeclined, "nothing was changed: not confirmed",
                  "answer y, or give --yes");
    }
    remote.RestartClock();
  }

  v1::SetMigrationRequest request;
  request.set_data_center(options.data_center);
  request.set_v2_ppm(share.ppm());
  request.set_expected_revision(expected_revision);
  request.set_reason(options.reason);
  request.set_requested_by(RequestedBy());
  v1::SetMigrationResponse response;
  status = client.Set(request, response);
  if (!status.ok()) {
    return FailSet(remote, status, expected_revision, client, options.data_center);
  }
  return PrintResult(options, response);
}

}  // namespace ringshift
