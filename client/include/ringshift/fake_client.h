// A Client for tests of what uses one: it asks no router, answers what the test says, and remembers
// what it was asked.
//
//   ringshift::FakeClient client;
//   client.SetAnswer([](const ringshift::RouteQuery& query) ->
//   absl::StatusOr<ringshift::RouteReply> {
//     if (query.key == "/lost") return absl::NotFoundError("no such pool");
//     ringshift::RouteReply reply;
//     reply.owner = {"cache-1", "10.0.0.1:443"};
//     return reply;
//   });
//   client.FailNext(absl::UnavailableError("down"));
//   EXPECT_TRUE(ServesThroughAnOutage(client));
//   EXPECT_EQ(client.routes()[0].key, "/img/1.jpg");
//
// Until told otherwise every key is owned by "fake-node" at "fake-node.invalid:443", on ring 1. A
// batch is answered as its keys are one by one; the first that fails fails it. What every router
// refuses is refused with the same code, and no answer is asked for: an empty data center, keys,
// replicas or a batch out of range. Nothing is retried.
//
// Thread safety: thread-safe, to be destroyed as a Client. Callbacks run in a thread of the fake's.
#ifndef RINGSHIFT_FAKE_CLIENT_H_
#define RINGSHIFT_FAKE_CLIENT_H_

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringshift/client.h"

namespace ringshift {

class FakeClient final : public Client {
 public:
  // Runs in the thread that calls, in several at once if several call.
  using Answer = std::function<absl::StatusOr<RouteReply>(const RouteQuery&)>;

  FakeClient();
  ~FakeClient() override;

  // Of every call from now on. Without one (nullptr) it is what it is at first.
  void SetAnswer(Answer answer);

  // What the next `calls` calls, keys or batches, get instead; after those that were told to fail
  // before. An OK is no error: as many calls are answered as usual.
  void FailNext(const absl::Status& error, int calls = 1);

  // Time passes from now on between a call and its answer; below 0 is 0. A call whose timeout is
  // shorter (0 is one second) gets DEADLINE_EXCEEDED after that.
  void SetDelay(std::chrono::microseconds delay);

  // What it was asked, in order.
  std::vector<RouteQuery> routes() const;
  std::vector<BatchQuery> batches() const;

  void RouteAsync(RouteQuery query, RouteCallback done) override;
  void RouteBatchAsync(BatchQuery query, BatchCallback done) override;

 private:
  struct State;
  template <typename Reply>
  void Finish(absl::StatusOr<Reply> reply, std::chrono::microseconds timeout,
              std::function<void(absl::StatusOr<Reply>)> done);

  const std::unique_ptr<State> state_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_FAKE_CLIENT_H_
