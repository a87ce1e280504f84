// The calls of one watch method on a completion queue: each gets what a ChangeFeed has, then what
// changes, for as long as its client likes. Without a thread for each of them: thousands may watch.
//
// A call has one message on its way at a time, and the next one has what is newest then. So a
// client that reads slowly costs what that message takes; and one that takes none of it for
// Options::max_write_time while there is something newer for it is cancelled.
//
// Thread safety: Notify, BeginLook, EndLook and End are thread-safe. The rest is for the thread
// that takes the events of the queue.
#ifndef RINGSHIFT_SERVER_WATCH_CALLS_H_
#define RINGSHIFT_SERVER_WATCH_CALLS_H_

#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "server/change_feed.h"
#include "server/queue_bell.h"
#include "server/queue_calls.h"

namespace ringshift {

class WatchCalls final : public QueueCalls {
 public:
  struct Query {
    ChangeFeed::Names names;  // empty means all
    std::string cursor;
  };

  // What one watch method differs in from another.
  struct Method {
    // Has the service take the next call.
    std::function<void(grpc::ServerContext*, grpc::ByteBuffer* request,
                       grpc::ServerAsyncWriter<grpc::ByteBuffer>*, grpc::ServerCompletionQueue*,
                       void* tag)>
        expect;
    // What a request asks for, or the error that the call ends with.
    std::function<absl::StatusOr<Query>(const grpc::ByteBuffer& request)> read;
    // The message that has these news.
    std::function<grpc::ByteBuffer(const ChangeFeed::News&)> write;
  };

  struct Options {
    std::size_t max_calls = 0;  // what comes beyond is refused with RESOURCE_EXHAUSTED
    std::chrono::seconds max_write_time{60};
    std::function<std::chrono::steady_clock::time_point()> clock = std::chrono::steady_clock::now;
    // A call gets its first message once a look that began after it came has ended. Else at once.
    bool waits_for_look = false;
  };

  // Of the states in a message, but for a state that is larger. Clients take 4 MiB by default.
  static constexpr std::size_t kMaxMessageBytes = std::size_t{3} << 20;

  // `feed` outlives this object, as does what `method` uses. The server is gone before.
  WatchCalls(const ChangeFeed& feed, Method method, Options options);

  void Start(grpc::ServerCompletionQueue& queue) override;
  void Stop() override;

  // The feed has changed.
  void Notify();

  // Around what makes the feed look at the state that it is of; one look at a time.
  void BeginLook() { looks_.fetch_add(1); }
  void EndLook(bool is_changed);

  // Ends every call with UNAVAILABLE, those that are still to come too, so that clients go
  // elsewhere and a shutdown does not wait for them.
  void End();

  // Calls that are open.
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  class Call;

  bool HasLookedSince(std::uint64_t look) const {
    return !options_.waits_for_look || ended_looks_ > look;
  }

  // Has some of the calls that are due look for news, and goes on with the others once the queue
  // has taken its other events.
  void UpdateDue();
  void Expect();

  const ChangeFeed& feed_;
  const Method method_;
  const Options options_;
  grpc::ServerCompletionQueue* queue_ = nullptr;  // set by Start
  std::map<std::uint64_t, Call*> calls_;          // those that are answered, in the order they came
  std::uint64_t last_number_ = 0;                 // of a call
  std::size_t due_ = 0;                           // calls that have not looked since a change
  std::uint64_t updated_ = 0;                     // the last one that has
  std::atomic<std::size_t> count_{0};
  std::atomic<bool> is_changed_{false};
  std::atomic<bool> is_look_awaited_{false};  // by a call
  std::atomic<std::uint64_t> looks_{0};       // that began
  std::atomic<std::uint64_t> ended_looks_{0};
  std::atomic<bool> is_ending_{false};
  QueueBell bell_{[this] { UpdateDue(); }};
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WATCH_CALLS_H_
