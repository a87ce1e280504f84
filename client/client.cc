#include "ringshift/client.h"

#include <functional>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "client/deadline.h"
#include "client/grpc_client.h"
#include "client/router_address.h"

namespace ringshift {
namespace {

// What `start` hands to the callback that it is given.
template <typename Reply>
absl::StatusOr<Reply> Await(
    const std::function<void(std::function<void(absl::StatusOr<Reply>)>)>& start) {
  absl::Notification finished;
  absl::StatusOr<Reply> result;
  start([&](absl::StatusOr<Reply> reply) {
    result = std::move(reply);
    finished.Notify();
  });
  finished.WaitForNotification();
  return result;
}

absl::Status CheckOptions(const ClientOptions& options) {
  if (options.routers.empty()) {
    return absl::InvalidArgumentError("routers is empty: name the public port of one or more");
  }
  std::set<std::string> seen;
  for (const std::string& router : options.routers) {
    if (!IsRouterAddress(router)) {
      return absl::InvalidArgumentError(absl::StrCat("router \"", absl::CHexEscape(router),
                                                     "\" is not an address: write ",
                                                     kRouterAddressForms));
    }
    if (!seen.insert(router).second) {
      return absl::InvalidArgumentError(absl::StrCat("router \"", router, "\" comes twice"));
    }
  }
  if (options.timeout <= std::chrono::microseconds(0) || options.timeout > kMaxTimeout) {
    return absl::InvalidArgumentError(absl::StrCat("the timeout of ", options.timeout.count(),
                                                   " us is not above 0 and at most a day"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Client>> Client::Create(const ClientOptions& options) {
  if (absl::Status good = CheckOptions(options); !good.ok()) return good;
  return std::make_unique<GrpcClient>(options);
}

absl::StatusOr<RouteReply> Client::Route(RouteQuery query) {
  return Await<RouteReply>(
      [&](RouteCallback done) { RouteAsync(std::move(query), std::move(done)); });
}

absl::StatusOr<BatchReply> Client::RouteBatch(BatchQuery query) {
  return Await<BatchReply>(
      [&](BatchCallback done) { RouteBatchAsync(std::move(query), std::move(done)); });
}

}  // namespace ringshift
