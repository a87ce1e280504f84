// A closed loop of asynchronous calls: so many are outstanding at any time, and the next one starts
// when one is done. Every answer is checked.
//
// Thread safety: used by one thread.
#ifndef RINGSHIFT_TESTS_BENCH_LOAD_H_
#define RINGSHIFT_TESTS_BENCH_LOAD_H_

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/channel_arguments.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringshift/v1/routing.grpc.pb.h"
#include "tests/bench/questions.h"

namespace ringshift::bench {

struct LoadResult {
  std::size_t calls = 0;
  std::chrono::duration<double> time{};
  std::chrono::duration<double> p50{};  // of a call, from its start to its checked answer
  std::chrono::duration<double> p99{};
};

template <typename QuestionsType>
class Load {
 public:
  using Request = typename QuestionsType::Request;
  using Response = typename QuestionsType::Response;

  // Connections of its own. `questions` outlives it.
  Load(const std::string& address, QuestionsType& questions, std::size_t outstanding,
       std::size_t channels)
      : questions_(questions), calls_(outstanding) {
    for (std::size_t i = 0; i < channels; ++i) {
      grpc::ChannelArguments arguments;
      arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
      stubs_.push_back(v1::RoutingService::NewStub(
          grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments)));
    }
  }
  ~Load() {
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  // Makes `calls` calls, going on in the questions where the last Run ended.
  // The error of the first call that failed or got a wrong answer.
  absl::StatusOr<LoadResult> Run(std::size_t calls) {
    return RunWhile([calls](std::size_t started) { return started < calls; });
  }

  // Makes calls while `go_on`, asked before each with the number of those started, says so.
  absl::StatusOr<LoadResult> RunWhile(const std::function<bool(std::size_t)>& go_on) {
    absl::Status error;
    std::size_t started = 0;
    std::size_t running = 0;
    latencies_.clear();
    const Clock::time_point start = Clock::now();
    const auto start_next = [&](Call& call) {
      if (!error.ok() || !go_on(started)) return;
      Start(call, started++ % stubs_.size());
      ++running;
    };
    for (Call& call : calls_) start_next(call);
    while (running > 0) {
      void* tag = nullptr;
      bool ok = false;
      queue_.Next(&tag, &ok);
      Call& call = *static_cast<Call*>(tag);
      --running;
      if (absl::Status right = End(call); !right.ok() && error.ok()) error = right;
      start_next(call);
    }
    if (!error.ok()) return error;
    LoadResult result;
    result.calls = started;
    result.time = Clock::now() - start;
    result.p50 = Percentile(0.50);
    result.p99 = Percentile(0.99);
    return result;
  }

 private:
  using Clock = std::chrono::steady_clock;

  struct Call {
    std::size_t index = 0;
    Clock::time_point start;
    std::optional<grpc::ClientContext> context;
    std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
    Response response;
    grpc::Status status;
  };

  void Start(Call& call, std::size_t stub) {
    call.index = next_question_++;
    const Request& request = questions_.Ask(call.index);
    call.start = Clock::now();
    call.context.emplace();
    if constexpr (std::is_same_v<Request, v1::RouteRequest>) {
      call.reader = stubs_[stub]->AsyncRoute(&*call.context, request, &queue_);
    } else {
      call.reader = stubs_[stub]->AsyncRouteBatch(&*call.context, request, &queue_);
    }
    call.reader->Finish(&call.response, &call.status, &call);
  }

  absl::Status End(Call& call) {
    if (!call.status.ok()) {
      return absl::UnavailableError("a call failed with code " +
                                    std::to_string(call.status.error_code()) + ": " +
                                    call.status.error_message());
    }
    absl::Status right = questions_.Check(call.index, call.response);
    latencies_.push_back(Clock::now() - call.start);
    return right;
  }

  std::chrono::duration<double> Percentile(double part) {
    if (latencies_.empty()) return {};
    const auto place = static_cast<std::ptrdiff_t>(part * static_cast<double>(latencies_.size()));
    std::nth_element(latencies_.begin(), latencies_.begin() + place, latencies_.end());
    return latencies_[static_cast<std::size_t>(place)];
  }

  QuestionsType& questions_;
  std::vector<std::unique_ptr<v1::RoutingService::Stub>> stubs_;
  grpc::CompletionQueue queue_;
  std::vector<Call> calls_;
  std::size_t next_question_ = 0;
  std::vector<Clock::duration> latencies_;
};

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_LOAD_H_
