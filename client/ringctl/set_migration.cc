#include "client/ringctl/set_migration.h"

#include <unistd.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/ringctl/build_progress.h"
#include "client/ringctl/confirm.h"
#include "client/ringctl/forecast_view.h"
#include "client/ringctl/json_writer.h"
#include "client/ringctl/migration_client.h"
#include "client/ringctl/migration_view.h"
#include "client/ringctl/output.h"
#include "client/ringctl/proto_text.h"
#include "client/ringctl/text.h"
#include "migration/share.h"

namespace ringshift {
namespace {

// One run of the command. Thread safety: thread-compatible.
class Setter {
 public:
  explicit Setter(const SetMigrationOptions& options)
      : options_(options),
        share_(Share::ParsePercent(options.percent).value()),
        remote_(options.remote),
        client_(remote_) {}

  ExitCode Run() {
    const grpc::Status status = client_.Select(SelectorOf(options_.selector), shown_);
    if (!status.ok()) return remote_.FailCall(status);
    for (const v1::Migration& migration : shown_) {
      if (options_.base_revision && migration.revision() > *options_.base_revision) {
        return FailChanged(migration);
      }
    }
    ExitCode may = CheckWillRefuse();
    if (may != ExitCode::kOk) return may;
    may = Forecast();
    if (may != ExitCode::kOk) return may;
    if (options_.dry_run) return PrintResult();
    may = Ask();
    return may == ExitCode::kOk ? Change() : may;
  }

 private:
  // Says that `now` is not what was shown, or what the caller expects, and what it is.
  ExitCode FailChanged(const v1::Migration& now) const {
    std::int64_t seen = 0;
    for (const v1::Migration& migration : shown_) {
      if (migration.data_center() == now.data_center()) seen = migration.revision();
    }
    return Fail(ExitCode::kRefused,
                absl::StrCat("nothing was changed, because ", now.data_center(), " is at revision ",
                             now.revision(), " and not at ", options_.base_revision.value_or(seen),
                             " any more: ", PercentOfPpm(now.v2_ppm()), " since ",
                             TimeForPeople(now.update_time()), ", by ", now.actor(), ", reason \"",
                             now.reason(), "\""),
                "decide again from there");
  }

  // Refuses what the router would refuse, before somebody is asked about it; in a dry run warns.
  ExitCode CheckWillRefuse() const {
    ExitCode result = ExitCode::kOk;
    const auto refuse = [&](const std::string& why, const std::string& advice) {
      if (options_.dry_run) {
        Warn("the router would refuse this, because " + why + ": " + advice);
      } else {
        result = Fail(ExitCode::kRefused, "nothing was changed, because " + why, advice);
      }
    };
    for (const v1::Migration& migration : shown_) {
      const std::string& name = migration.data_center();
      if (migration.is_orphaned()) {
        refuse(name + " is orphaned: this router does not serve the data center",
               "leave it out; its share stays as it is until the topology has it again");
        continue;
      }
      if (migration.has_share_override()) {
        Warn(absl::StrCat(name, " answers with an override of ",
                          PercentOfPpm(migration.share_override().v2_ppm()), " on ",
                          remote_.server(),
                          ": no key moves there before `ringctl migration clear`"));
      }
      if (!migration.has_v1() && !options_.selector.data_centers.empty() &&
          share_.ppm() != migration.v2_ppm()) {
        refuse(name + " has no ring v1: v2 answers every request",
               "leave it out; a tier, or all data centers, leave it alone");
      }
      if (migration.is_frozen()) {
        refuse(name + " is frozen since it was rolled back",
               "`ringctl migration unfreeze --data-center " + name + remote_.ServerFlag() +
                   "` lets its share be changed again");
      }
      if (!migration.balance_warning().empty() && !options_.accept_imbalance &&
          share_.ppm() > migration.v2_ppm()) {
        refuse("v2 of " + name + " is uneven: " + migration.balance_warning(),
               "give it more points, or accept that with --accept-imbalance");
      }
    }
    return result;
  }

  // Fills in forecast_. Not kOk where the command is to end.
  ExitCode Forecast() {
    v1::ForecastMigrationRequest request;
    *request.mutable_selector() = SelectorOf(options_.selector);
    request.set_v2_ppm(share_.ppm());
    double hit_ratio = 0;
    if (options_.hit_ratio && absl::SimpleAtod(*options_.hit_ratio, &hit_ratio)) {
      request.set_hit_ratio(hit_ratio);
    }
    grpc::Status status;
    {
      const BuildProgress progress("the router forecasts the change");
      status = client_.Forecast(request, forecast_);
    }
    if (!status.ok()) return DecideWithoutForecast(status);
    remote_.RestartClock();
    for (const v1::Forecast& forecast : forecast_.forecasts()) {
      for (const v1::Migration& migration : shown_) {
        if (migration.data_center() != forecast.data_center() ||
            migration.revision() == forecast.revision()) {
          continue;
        }
        v1::Migration now;
        const grpc::Status got = client_.Get(migration.data_center(), now);
        return got.ok() ? FailChanged(now) : remote_.FailCall(got);
      }
    }
    return CheckChurn();
  }

  // A forecast that cannot be had stops a script that sets a limit, and nobody who knows better.
  ExitCode DecideWithoutForecast(const grpc::Status& status) {
    const bool is_about_arguments = status.error_code() == grpc::StatusCode::INVALID_ARGUMENT ||
                                    status.error_code() == grpc::StatusCode::NOT_FOUND;
    if (options_.dry_run || is_about_arguments) return remote_.FailCall(status);
    if (options_.max_churn) {
      return remote_.FailCall(
          status,
          "nothing was changed, because there is no forecast to hold against --max-churn: ");
    }
    Warn(absl::StrCat("there is no forecast of this change: ", remote_.Describe(status),
                      options_.yes ? "; going on, because of --yes" : ""));
    forecast_.Clear();
    remote_.RestartClock();
    return ExitCode::kOk;
  }

  ExitCode CheckChurn() const {
    if (!options_.max_churn) return ExitCode::kOk;
    const Share limit = Share::ParsePercent(*options_.max_churn).value();
    for (const v1::Forecast& forecast : forecast_.forecasts()) {
      if (!forecast.unavailable_reason().empty()) {
        return Fail(ExitCode::kRefused,
                    absl::StrCat("nothing was changed, because there is no forecast of ",
                                 forecast.data_center(),
                                 " to hold against --max-churn: ", forecast.unavailable_reason()),
                    "leave --max-churn out, or change that first");
      }
      if (forecast.churn() * Share::kMaxPpm > limit.ppm()) {
        return Fail(ExitCode::kRefused,
                    absl::StrCat("nothing was changed, because ", PercentOfRatio(forecast.churn()),
                                 " of the key space of ", forecast.data_center(),
                                 " would get another owner, more than the ", limit.ToPercent(),
                                 "% of --max-churn"),
                    "take a smaller step, or allow more");
      }
    }
    return ExitCode::kOk;
  }

  ExitCode Ask() {
    if (!options_.yes && !forecast_.forecasts().empty()) {
      Output question(STDERR_FILENO);
      PrintForecasts(forecast_, question);
      question.Write("\n");
      question.Flush();
    }
    const std::string from =
        shown_.size() == 1 ? absl::StrCat(" from ", PercentOfPpm(shown_.front().v2_ppm())) : "";
    return Confirm(options_.yes,
                   absl::StrCat("Change the share of v2 in ", NameDataCenters(ThatMayChange()),
                                from, " to ", share_.ToPercent(), "%?"),
                   remote_);
  }

  // A tier, or all of them, leave those alone that have no v1.
  std::vector<v1::Migration> ThatMayChange() const {
    std::vector<v1::Migration> migrations;
    for (const v1::Migration& migration : shown_) {
      if (migration.has_v1()) migrations.push_back(migration);
    }
    return migrations.empty() ? shown_ : migrations;
  }

  ExitCode Change() {
    v1::SetMigrationRequest request;
    *request.mutable_selector() = SelectorOf(options_.selector);
    request.set_v2_ppm(share_.ppm());
    request.set_base_revision(BaseRevision());
    request.set_reason(options_.reason);
    request.set_requested_by(RequestedBy());
    request.set_accept_imbalance(options_.accept_imbalance);
    if (options_.max_churn) {
      request.set_max_churn_ppm(Share::ParsePercent(*options_.max_churn).value().ppm());
    }
    v1::SetMigrationResponse response;
    const grpc::Status status = client_.Set(request, response);
    if (!status.ok()) return FailSet(status);
    changes_ = std::move(*response.mutable_changes());
    return PrintResult();
  }

  // The newest of what was shown, so that what anybody has changed since is not overwritten.
  std::int64_t BaseRevision() const {
    return options_.base_revision.value_or(NewestRevision(shown_));
  }

  ExitCode FailSet(const grpc::Status& status) {
    if (status.error_code() == grpc::StatusCode::ABORTED) {
      constexpr std::size_t kNamed = 10;
      std::vector<v1::Migration> now;
      std::size_t changed = 0;
      if (client_.Select(SelectorOf(options_.selector), now).ok()) {
        for (const v1::Migration& migration : now) {
          if (migration.revision() > BaseRevision() && ++changed <= kNamed) FailChanged(migration);
        }
      }
      if (changed > kNamed) {
        Fail(ExitCode::kRefused, absl::StrCat("and ", changed - kNamed, " more were changed"),
             absl::StrCat("look with `ringctl migration list", remote_.ServerFlag(), "`"));
      }
      if (changed > 0) return ExitCode::kRefused;
    }
    const std::string look = LookCommand(options_.selector);
    const std::string of = NameDataCenters(shown_);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE && remote_.IsAnswer(status)) {
      remote_.FailCall(status);
      return Fail(ExitCode::kUnknown,
                  absl::StrCat("the share of ", of, " that is in force on ", remote_.server(),
                               " is as before, but it is not known whether its store has the new "
                               "one"),
                  absl::StrCat("look with `", look, remote_.ServerFlag(), "`"));
    }
    return remote_.FailChange(status, "the share of " + of + " was changed", look);
  }

  // The forecast too, unless it was on stderr with the question.
  ExitCode PrintResult() const {
    Output output(STDOUT_FILENO);
    if (options_.json) {
      JsonWriter json;
      json.BeginObject().Key("forecasts").BeginArray();
      for (const v1::Forecast& forecast : forecast_.forecasts()) WriteForecast(forecast, json);
      json.EndArray().Key("changes");
      WriteChangedMigrations(changes_, json);
      json.EndObject();
      output.Write(json.TakeLine());
      return output.Finish();
    }
    const bool shows_forecast =
        (options_.dry_run || options_.yes) && !forecast_.forecasts().empty();
    if (shows_forecast) PrintForecasts(forecast_, output);
    if (!options_.dry_run) {
      if (shows_forecast) output.Write("\n");
      PrintChangedMigrations(changes_, output);
    }
    return output.Finish();
  }

  const SetMigrationOptions& options_;
  const Share share_;
  Remote remote_;
  MigrationClient client_;
  std::vector<v1::Migration> shown_;
  v1::ForecastMigrationResponse forecast_;  // empty where there is none
  ChangedMigrations changes_;
};

}  // namespace

ExitCode SetMigration(const SetMigrationOptions& options) {
  const ExitCode may = CheckCanConfirm(options.yes || options.dry_run);
  return may == ExitCode::kOk ? Setter(options).Run() : may;
}

}  // namespace ringshift
