#include "client/grpc_client.h"

#include <grpc/grpc.h>
#include <grpc/support/time.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/backoff.h"
#include "client/deadline.h"

namespace ringshift {
namespace {

constexpr std::size_t kMaxAttempts = 3;
constexpr Backoff kRetryBackoff{std::chrono::milliseconds(5), std::chrono::milliseconds(500)};
// A router that is back is found within this, and a little.
constexpr std::chrono::milliseconds kMaxReconnectPause{5000};
constexpr std::chrono::milliseconds kFirstReconnectPause{200};
constexpr std::chrono::milliseconds kConnectTimeout{5000};
// A batch of 10,000 keys that all have owners of their own, with long names, is about 4 MiB.
constexpr int kMaxReplyBytes = 16 << 20;
constexpr const char* kNoConnectionYet = "it is being connected";
// Of routers, in an error.
constexpr std::size_t kMaxReasons = 3;

std::shared_ptr<grpc::Channel> Connect(const std::string& router, const Keepalive& keepalive) {
  const auto ms = [](std::chrono::milliseconds time) { return static_cast<int>(time.count()); };
  grpc::ChannelArguments arguments;
  // Else all channels of the process to one address are one connection, with the settings of the
  // first.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // A router is inside the network; a proxy for the web is never the way to it.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, ms(keepalive.interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, ms(keepalive.timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // any number
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, ms(kFirstReconnectPause));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, ms(kMaxReconnectPause));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, ms(kConnectTimeout));  // is its timeout, too
  arguments.SetMaxReceiveMessageSize(kMaxReplyBytes);
  return grpc::CreateCustomChannel(router, grpc::InsecureChannelCredentials(), arguments);
}

// Monotonic, so that a step of the wall clock is nothing.
gpr_timespec ToTimespec(std::chrono::steady_clock::time_point deadline) {
  const std::chrono::nanoseconds left = deadline - std::chrono::steady_clock::now();
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

std::string Milliseconds(std::chrono::steady_clock::duration time) {
  return absl::StrCat(std::chrono::duration<double, std::milli>(time).count(), " ms");
}

absl::Status Cancelled() { return absl::CancelledError("the client is being destroyed"); }

// Whether a router refused the call because it has too much to do. Those that are too large for any
// router have the same code.
bool IsOverload(const absl::Status& status) {
  return status.code() == absl::StatusCode::kResourceExhausted &&
         absl::StrContains(status.message(), "ask another one");
}

// `status`, an error of an attempt, as the user gets it.
absl::Status Annotate(const std::string& router, const OutgoingCall& call,
                      const absl::Status& status) {
  std::string message =
      absl::StrCat("router ", router, ": ",
                   status.code() == absl::StatusCode::kDeadlineExceeded
                       ? absl::StrCat("no answer within ", Milliseconds(call.deadline - call.start))
                       : std::string(status.message()));
  if (call.tried.size() > 1) absl::StrAppend(&message, " (attempt ", call.tried.size(), ")");
  return absl::Status(status.code(), message);
}

}  // namespace

GrpcClient::GrpcClient(const ClientOptions& options, const Keepalive& keepalive)
    : timeout_(options.timeout),
      timers_(std::make_unique<TimerQueue>()),
      picker_(options.routers.size(), std::random_device{}()),
      reasons_(options.routers.size(), kNoConnectionYet),
      random_(std::random_device{}()) {
  // Once, and never matched by a grpc_shutdown: the last one waits for a name resolution that
  // hangs.
  static const bool initialised = (grpc_init(), true);
  static_cast<void>(initialised);
  routers_.reserve(options.routers.size());
  for (const std::string& address : options.routers) {
    const std::size_t index = routers_.size();
    const std::shared_ptr<grpc::Channel> channel = Connect(address, keepalive);
    routers_.push_back({address, channel, nullptr});
    routers_.back().watch = std::make_unique<HealthWatch>(
        channel, *timers_, [this, index](RouterState state, const std::string& reason) {
          OnState(index, state, reason);
        });
  }
}

GrpcClient::~GrpcClient() {
  std::vector<std::shared_ptr<grpc::ClientContext>> contexts;
  {
    absl::MutexLock lock(&mutex_);
    closing_ = true;
    for (const OutgoingCall* call : calls_) {
      if (call->context != nullptr) contexts.push_back(call->context);
    }
  }
  for (const Router& router : routers_) router.watch->Stop();
  for (const std::shared_ptr<grpc::ClientContext>& context : contexts) context->TryCancel();
  contexts.clear();
  timers_.reset();  // ends the calls that wait
  for (Router& router : routers_) router.watch.reset();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](absl::flat_hash_set<OutgoingCall*>* calls) { return calls->empty(); }, &calls_));
}

void GrpcClient::RouteAsync(RouteQuery query, RouteCallback done) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point deadline = Deadline(now, query.timeout, timeout_);
  Start(std::make_shared<RouteCall>(now, deadline, std::move(query), std::move(done)));
}

void GrpcClient::RouteBatchAsync(BatchQuery query, BatchCallback done) {
  const Clock::time_point now = Clock::now();
  const Clock::time_point deadline = Deadline(now, query.timeout, timeout_);
  Start(std::make_shared<BatchCall>(now, deadline, std::move(query), std::move(done)));
}

void GrpcClient::Start(CallPtr call) {
  {
    absl::MutexLock lock(&mutex_);
    calls_.insert(call.get());
    budget_.OnCall();
  }
  Send(std::move(call));
}

void GrpcClient::Send(CallPtr call) {
  Router* router = nullptr;
  const Clock::time_point now = Clock::now();
  {
    absl::MutexLock lock(&mutex_);
    if (closing_) {
      // Below.
    } else if (const std::optional<std::size_t> picked = picker_.Pick(call->tried, now)) {
      router = &routers_[*picked];
      call->tried.push_back(*picked);
      call->sent = now;
      call->context = std::make_shared<grpc::ClientContext>();
      call->context->set_deadline(ToTimespec(call->deadline));
    } else if (picker_.IsConnecting()) {
      call->timer = timers_->Add(call->deadline, [this, call](bool) { OnWaitedInVain(call); });
      OutgoingCall* const key = call.get();
      waiting_.emplace(key, std::move(call));
      return;
    } else {
      // Not here: callbacks do not run in the thread that calls.
      timers_->Add(now,
                   [this, call,
                    status = absl::UnavailableError(absl::StrCat(
                        "no router can be reached: ", Reasons()))](bool) { Finish(call, status); });
      return;
    }
  }
  if (router == nullptr) {
    Finish(call, Cancelled());
    return;
  }
  // The call may be over, and the client gone, before this returns. What holds a context holds the
  // channel, so there is no holder of it here, where the thread may be one of gRPC's.
  OutgoingCall& sent = *call;
  sent.Send(router->channel, *sent.context, [this, call = std::move(call)](grpc::Status status) {
    OnAttemptDone(call, ToStatus(status));
  });
}

void GrpcClient::OnAttemptDone(const CallPtr& call, absl::Status status) {
  bool closing = false;
  {
    std::shared_ptr<grpc::ClientContext> context;
    absl::MutexLock lock(&mutex_);
    context.swap(call->context);
    closing = closing_;
    if (status.code() != absl::StatusCode::kDeadlineExceeded) {
      picker_.OnAnswer(call->tried.back());
    } else if (call->deadline - call->sent > (call->deadline - call->start) / 2) {
      // With less of its time left, it was perhaps lost before it was sent.
      picker_.OnTimeout(call->tried.back(), Clock::now());
    }
  }
  if (status.ok()) status = call->TakeAnswer();
  if (status.ok()) {
    Finish(call, status);
    return;
  }
  if (status.code() == absl::StatusCode::kCancelled) {
    if (closing) {
      Finish(call, Cancelled());
      return;
    }
    // So gRPC answers a call that meets a server which is closing.
    status = absl::UnavailableError("the router ended the call");
  }
  if (Retry(call, status)) return;
  Finish(call, Annotate(routers_[call->tried.back()].address, *call, status));
}

bool GrpcClient::Retry(const CallPtr& call, const absl::Status& status) {
  const bool is_overload = IsOverload(status);
  if (!is_overload && status.code() != absl::StatusCode::kUnavailable) return false;
  if (call->tried.size() >= kMaxAttempts) return false;
  const Clock::time_point now = Clock::now();
  if (now >= call->deadline) return false;
  absl::MutexLock lock(&mutex_);
  if (closing_) return false;
  if (is_overload && !picker_.HasOther(call->tried, now)) return false;
  if (!budget_.TakeRetry()) return false;
  Clock::duration pause{0};
  if (!is_overload) {
    const double random = std::uniform_real_distribution<double>(0, 1)(random_);
    pause =
        std::min<Clock::duration>(kRetryBackoff.Pause(static_cast<int>(call->tried.size()), random),
                                  (call->deadline - now) / 2);
  }
  timers_->Add(now + pause, [this, call](bool) { Send(call); });
  return true;
}

void GrpcClient::OnWaitedInVain(const CallPtr& call) {
  absl::Status status = Cancelled();
  {
    absl::MutexLock lock(&mutex_);
    if (waiting_.erase(call.get()) == 0) return;
    if (!closing_) {
      status = absl::DeadlineExceededError(absl::StrCat("no router is connected within ",
                                                        Milliseconds(call->deadline - call->start),
                                                        ": ", Reasons()));
    }
  }
  Finish(call, status);
}

void GrpcClient::OnState(std::size_t router, RouterState state, const std::string& reason) {
  std::vector<CallPtr> ready;
  {
    absl::MutexLock lock(&mutex_);
    if (closing_) return;
    picker_.SetState(router, state);
    reasons_[router] = state == RouterState::kConnecting ? kNoConnectionYet : reason;
    if (state != RouterState::kServing && picker_.IsConnecting()) return;
    ready.reserve(waiting_.size());
    for (auto& [key, call] : waiting_) {
      timers_->Cancel(call->timer);
      ready.push_back(std::move(call));
    }
    waiting_.clear();
  }
  for (CallPtr& call : ready) Send(std::move(call));
}

void GrpcClient::Finish(const CallPtr& call, const absl::Status& status) {
  call->Finish(status);
  absl::MutexLock lock(&mutex_);
  calls_.erase(call.get());
}

std::string GrpcClient::Reasons() const {
  std::string text;
  for (std::size_t i = 0; i < std::min(routers_.size(), kMaxReasons); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : "; ", routers_[i].address, ": ", reasons_[i]);
  }
  if (routers_.size() > kMaxReasons) {
    absl::StrAppend(&text, "; and ", routers_.size() - kMaxReasons, " more");
  }
  return text;
}

}  // namespace ringshift
