#include "server/migration_service.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/calls.h"
#include "server/migration_proto.h"
#include "server/migration_requests.h"
#include "server/status.h"

namespace ringshift {
namespace {

using Changed = MigrationController::Changed;
using View = MigrationController::View;

// How long a rollback, which is in force, waits for the store. It answers within a second.
constexpr std::chrono::milliseconds kRollbackPatience{800};

void ToProto(const ByOutcome<double>& rates, v1::OutcomeRates& proto) {
  const auto rate = [&rates](Outcome outcome) { return rates[static_cast<std::size_t>(outcome)]; };
  proto.set_hit(rate(Outcome::kHit));
  proto.set_previous_owner_hit(rate(Outcome::kPreviousOwnerHit));
  proto.set_origin(rate(Outcome::kOrigin));
  proto.set_connect_error(rate(Outcome::kConnectError));
  proto.set_error(rate(Outcome::kError));
}

void ToProto(const View& view, const RateWindow& rates, v1::Migration& proto) {
  ToProto(view, proto);
  const RateWindow::Rate rate = rates.Of(view.migration.data_center);
  proto.set_requests_per_second(rate.keys_per_second);
  if (rate.v2_ratio) {
    proto.set_measured_v2_ppm(static_cast<std::int32_t>(std::lround(*rate.v2_ratio * 1e6)));
  }
  proto.set_errors_per_second(rate.errors_per_second);
  if (rate.v1_outcomes) ToProto(*rate.v1_outcomes, *proto.mutable_v1_outcomes());
  if (rate.v2_outcomes) ToProto(*rate.v2_outcomes, *proto.mutable_v2_outcomes());
}

// What it means for a rollback, which is made by then, that the queue refuses to have it saved.
absl::Status OfRollback(const absl::Status& refusal) {
  if (!absl::IsResourceExhausted(refusal)) {
    return absl::UnavailableError(
        "the router has the rollback, and is stopping before its store is known to have it");
  }
  return absl::UnavailableError(
      "the router has the rollback, and its store has not got it yet, because " +
      std::to_string(WorkQueue::kMaxWaiting) + " changes wait for the store; it is tried again");
}

// Fills in a field `migrations`.
template <typename Response>
void FillMigrations(const std::vector<Changed>& changes, const RateWindow& rates,
                    Response& response) {
  for (const Changed& changed : changes) ToProto(changed.view, rates, *response.add_migrations());
}
template <typename Response>
void FillMigrations(const std::vector<View>& views, const RateWindow& rates, Response& response) {
  for (const View& view : views) ToProto(view, rates, *response.add_migrations());
}

// Fills in a field `changes`.
template <typename Response>
void FillChanges(const std::vector<Changed>& changes, const RateWindow& rates, Response& response) {
  for (const Changed& changed : changes) {
    v1::ChangedMigration& proto = *response.add_changes();
    ToProto(changed.view, rates, *proto.mutable_migration());
    proto.set_previous_v2_ppm(changed.previous.ppm());
  }
}

}  // namespace

grpc::Status MigrationService::GetMigration(grpc::ServerContext* /*context*/,
                                            const v1::GetMigrationRequest* request,
                                            v1::GetMigrationResponse* response) {
  return ToGrpcStatus(Get(*request, *response));
}

grpc::Status MigrationService::ListMigrations(grpc::ServerContext* /*context*/,
                                              const v1::ListMigrationsRequest* request,
                                              v1::ListMigrationsResponse* response) {
  return ToGrpcStatus(List(*request, *response));
}

grpc::Status MigrationService::SetMigration(grpc::ServerContext* context,
                                            const v1::SetMigrationRequest* request,
                                            v1::SetMigrationResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<Order> order = ParseOrder(*request, context->peer());
  if (!order.ok()) return ToGrpcStatus(order.status());
  const absl::StatusOr<Share> share = ParseShare(*request);
  if (!share.ok()) return ToGrpcStatus(share.status());
  const absl::StatusOr<MigrationController::ShareRules> rules = ParseShareRules(*request);
  if (!rules.ok()) return ToGrpcStatus(rules.status());
  return QueueCall(
      changes_, context,
      [this, order = *std::move(order), share = *share, rules = *rules] {
        return migrations_.SetShare(order, share, rules);
      },
      [this, response](const std::vector<Changed>& changes) {
        FillChanges(changes, rates_, *response);
      });
}

grpc::Status MigrationService::ForecastMigration(grpc::ServerContext* context,
                                                 const v1::ForecastMigrationRequest* request,
                                                 v1::ForecastMigrationResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<ForecastOrder> order = ParseForecastOrder(*request);
  if (!order.ok()) return ToGrpcStatus(order.status());
  return QueueCall(
      reads_, context,
      [this, order = *std::move(order)]() -> absl::StatusOr<v1::ForecastMigrationResponse> {
        const absl::StatusOr<std::vector<View>> views = migrations_.Select(order.selector);
        if (!views.ok()) return views.status();
        v1::ForecastMigrationResponse forecasts;
        for (const View& view : *views) {
          *forecasts.add_forecasts() =
              forecaster_.Forecast(*view.table, order.share, order.hit_ratio);
        }
        return forecasts;
      },
      [response](const v1::ForecastMigrationResponse& forecasts) { *response = forecasts; });
}

grpc::Status MigrationService::RollbackMigration(grpc::ServerContext* context,
                                                 const v1::RollbackMigrationRequest* request,
                                                 v1::RollbackMigrationResponse* response) {
  return ToGrpcStatus(Rollback(*request, context->peer(), *response));
}

grpc::Status MigrationService::UnfreezeMigration(grpc::ServerContext* context,
                                                 const v1::UnfreezeMigrationRequest* request,
                                                 v1::UnfreezeMigrationResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<Order> order = ParseOrder(*request, context->peer());
  if (!order.ok()) return ToGrpcStatus(order.status());
  return QueueCall(
      changes_, context,
      [this, order = *std::move(order), rollbacks = migrations_.RollbackCount()] {
        return migrations_.Unfreeze(order, rollbacks);
      },
      [this, response](const std::vector<Changed>& changes) {
        FillMigrations(changes, rates_, *response);
      });
}

grpc::Status MigrationService::OverrideShare(grpc::ServerContext* context,
                                             const v1::OverrideShareRequest* request,
                                             v1::OverrideShareResponse* response) {
  return ToGrpcStatus(Override(*request, context->peer(), *response));
}

grpc::Status MigrationService::ClearOverride(grpc::ServerContext* context,
                                             const v1::ClearOverrideRequest* request,
                                             v1::ClearOverrideResponse* response) {
  return ToGrpcStatus(Clear(*request, context->peer(), *response));
}

grpc::Status MigrationService::RetireRing(grpc::ServerContext* context,
                                          const v1::RetireRingRequest* request,
                                          v1::RetireRingResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<Order> order = ParseOrder(*request, context->peer());
  if (!order.ok()) return ToGrpcStatus(order.status());
  const absl::StatusOr<Retirement> retirement = ParseRetirement(*request);
  if (!retirement.ok()) return ToGrpcStatus(retirement.status());
  return QueueCall(
      changes_, context,
      [this, order = *std::move(order), wanted = *retirement] {
        return migrations_.Retire(order, wanted.version, wanted.min_age);
      },
      [this, response](const MigrationController::Retired& retired) {
        FillMigrations(retired.changes, rates_, *response);
        response->set_ring_memory_bytes(static_cast<std::int64_t>(retired.ring_bytes));
      });
}

grpc::Status MigrationService::RestoreRing(grpc::ServerContext* context,
                                           const v1::RestoreRingRequest* request,
                                           v1::RestoreRingResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<Order> order = ParseOrder(*request, context->peer());
  if (!order.ok()) return ToGrpcStatus(order.status());
  return QueueCall(
      changes_, context, [this, order = *std::move(order)] { return migrations_.Restore(order); },
      [this, response](const std::vector<Changed>& changes) {
        FillMigrations(changes, rates_, *response);
      });
}

grpc::Status MigrationService::GetDefaultShare(grpc::ServerContext* context,
                                               const v1::GetDefaultShareRequest* /*request*/,
                                               v1::GetDefaultShareResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  return QueueCall(
      reads_, context, [this] { return store_.LoadDefaultShare(); },
      [response](const DefaultShare& share) {
        ToProto(share, *response->mutable_default_share());
      });
}

grpc::Status MigrationService::SetDefaultShare(grpc::ServerContext* context,
                                               const v1::SetDefaultShareRequest* request,
                                               v1::SetDefaultShareResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<DefaultShareUpdate> update = ParseDefaultShare(*request, context->peer());
  if (!update.ok()) return ToGrpcStatus(update.status());
  return QueueCall(
      changes_, context,
      [this, update = *std::move(update)] { return migrations_.SetDefaultShare(update); },
      [response](const MigrationController::ChangedDefaultShare& changed) {
        ToProto(changed.now, *response->mutable_default_share());
        response->set_previous_v2_ppm(changed.previous.ppm());
      });
}

grpc::Status MigrationService::ListMigrationChanges(grpc::ServerContext* context,
                                                    const v1::ListMigrationChangesRequest* request,
                                                    v1::ListMigrationChangesResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<HistoryQuery> query = ParseHistoryQuery(*request);
  if (!query.ok()) return ToGrpcStatus(query.status());
  const std::size_t page_size = query->limit - 1;
  return QueueCall(
      reads_, context, [this, query = *std::move(query)] { return store_.History(query); },
      [response, page_size](const std::vector<MigrationChange>& changes) {
        for (std::size_t i = 0; i < changes.size(); ++i) {
          if (i == page_size) {
            response->set_next_page_token(HistoryPageToken(changes[i - 1]));
            break;
          }
          ToProto(changes[i], *response->add_changes());
        }
      });
}

grpc::Status MigrationService::ForgetMigration(grpc::ServerContext* context,
                                               const v1::ForgetMigrationRequest* request,
                                               v1::ForgetMigrationResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<ForgetRequest> wanted = ParseForget(*request, context->peer());
  if (!wanted.ok()) return ToGrpcStatus(wanted.status());
  return QueueCall(
      changes_, context, [this, wanted = *std::move(wanted)] { return migrations_.Forget(wanted); },
      [response](const Migration& migration) {
        View view;
        view.migration = migration;
        view.is_orphan = true;
        ToProto(view, *response->mutable_migration());
      });
}

grpc::Status MigrationService::RenameMigration(grpc::ServerContext* context,
                                               const v1::RenameMigrationRequest* request,
                                               v1::RenameMigrationResponse* response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ToGrpcStatus(ready);
  absl::StatusOr<RenameRequest> wanted = ParseRename(*request, context->peer());
  if (!wanted.ok()) return ToGrpcStatus(wanted.status());
  return QueueCall(
      changes_, context,
      [this, wanted = *std::move(wanted)]() -> absl::StatusOr<View> {
        absl::StatusOr<Migration> renamed = migrations_.Rename(wanted);
        if (!renamed.ok()) return renamed.status();
        return migrations_.Find(wanted.to);
      },
      [this, response](const View& view) {
        ToProto(view, rates_, *response->mutable_migration());
      });
}

absl::Status MigrationService::Get(const v1::GetMigrationRequest& request,
                                   v1::GetMigrationResponse& response) const {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  if (absl::Status named = CheckDataCenterIsNamed(request.data_center()); !named.ok()) return named;
  absl::StatusOr<View> view = migrations_.Find(request.data_center());
  if (!view.ok()) return view.status();
  ToProto(*view, rates_, *response.mutable_migration());
  return absl::OkStatus();
}

absl::Status MigrationService::List(const v1::ListMigrationsRequest& request,
                                    v1::ListMigrationsResponse& response) const {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  absl::StatusOr<std::size_t> page_size = PageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  absl::StatusOr<std::string_view> after = ParseNamePageToken(request.page_token());
  if (!after.ok()) return after.status();
  for (const View& view : migrations_.Migrations()) {
    const std::string& name = view.migration.data_center;
    if (!after->empty() && name <= *after) continue;
    if (static_cast<std::size_t>(response.migrations_size()) == *page_size) {
      response.set_next_page_token(NamePageToken(response.migrations().rbegin()->data_center()));
      break;
    }
    ToProto(view, rates_, *response.add_migrations());
  }
  return absl::OkStatus();
}

absl::Status MigrationService::Rollback(const v1::RollbackMigrationRequest& request,
                                        const std::string& peer,
                                        v1::RollbackMigrationResponse& response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  v1::RollbackMigrationRequest fitting = request;
  fitting.set_reason(CutText(request.reason(), kMaxReasonBytes));
  fitting.set_requested_by(CutText(request.requested_by(), kMaxRequestedByBytes));
  absl::StatusOr<Order> order = ParseOrder(fitting, peer);
  if (!order.ok()) return order.status();
  absl::StatusOr<MigrationController::RolledBack> rolled_back = migrations_.Rollback(*order);
  if (!rolled_back.ok()) return rolled_back.status();
  const absl::Status saved = WaitUntilSaved();
  for (Changed& changed : rolled_back->changes) {
    absl::StatusOr<View> now = migrations_.Find(changed.view.migration.data_center);
    if (now.ok()) changed.view = *std::move(now);
  }
  FillChanges(rolled_back->changes, rates_, response);
  const bool is_in_force = std::all_of(
      rolled_back->changes.begin(), rolled_back->changes.end(), [](const Changed& each) {
        return each.view.table == nullptr || each.view.table->share() == Share::None();
      });
  response.set_durability(!saved.ok()   ? v1::DURABILITY_APPLIED_NOT_DURABLE
                          : is_in_force ? v1::DURABILITY_DURABLE
                                        : v1::DURABILITY_NOT_IN_FORCE);
  response.set_store_error(std::string(saved.message()));
  for (std::string& name : rolled_back->without_v1) response.add_without_v1(std::move(name));
  for (std::string& name : rolled_back->unknown) response.add_unknown(std::move(name));
  return absl::OkStatus();
}

absl::Status MigrationService::WaitUntilSaved() {
  if (!migrations_.HasUnsavedRollbacks()) return absl::OkStatus();
  const auto saved = std::make_shared<std::promise<absl::Status>>();
  std::future<absl::Status> saving = saved->get_future();
  changes_.Add({[] { return true; },
                [this, saved]() -> WorkQueue::Deliver {
                  absl::Status status = migrations_.SaveRollbacks();
                  return [saved, status = std::move(status)] { saved->set_value(status); };
                },
                [saved](const absl::Status& refusal) { saved->set_value(OfRollback(refusal)); }});
  if (saving.wait_for(kRollbackPatience) != std::future_status::ready) {
    return absl::UnavailableError("the store has not taken the rollback within " +
                                  std::to_string(kRollbackPatience.count()) +
                                  " ms; it is tried again");
  }
  return saving.get();
}

absl::Status MigrationService::Override(const v1::OverrideShareRequest& request,
                                        const std::string& peer,
                                        v1::OverrideShareResponse& response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  const absl::StatusOr<Order> order = ParseOrder(request, peer);
  if (!order.ok()) return order.status();
  const absl::StatusOr<Share> share = ParseShare(request);
  if (!share.ok()) return share.status();
  if (order->reason.empty()) {
    return absl::FailedPreconditionError(
        "reason is empty: say why this router shall answer otherwise than the others");
  }
  const absl::StatusOr<std::vector<View>> views = migrations_.Override(*order, *share);
  if (!views.ok()) return views.status();
  FillMigrations(*views, rates_, response);
  return absl::OkStatus();
}

absl::Status MigrationService::Clear(const v1::ClearOverrideRequest& request,
                                     const std::string& peer, v1::ClearOverrideResponse& response) {
  if (absl::Status ready = lifecycle_.CheckAnswering(); !ready.ok()) return ready;
  const absl::StatusOr<Order> order = ParseOrder(request, peer);
  if (!order.ok()) return order.status();
  const absl::StatusOr<std::vector<View>> views = migrations_.ClearOverride(*order);
  if (!views.ok()) return views.status();
  FillMigrations(*views, rates_, response);
  return absl::OkStatus();
}

}  // namespace ringshift
