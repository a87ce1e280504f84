// One completion queue with the thread that serves it: takes Route and RouteBatch calls, has its
// handler answer them, and refuses what is too much.
//
// Route is answered at once. Of the batches one at a time is under way, in the order in which they
// came; between its slices the queue takes other calls, so that those beside a long batch keep
// their latency. Where calls come faster than they are answered they wait in the queue, up to the
// limit, and what comes beyond is refused with RESOURCE_EXHAUSTED.
//
// An answer belongs to the client once gRPC has it: its call counts no more towards the limit,
// since a client may take as long as it likes and set no deadline. What clients do not take is kept
// up to a bound in bytes, and beyond it the oldest is given up, with CANCELLED. So whoever does not
// listen costs others nothing but that memory, over however many connections; those who listen have
// taken their answers long before. (A limit in time would hold no bound in bytes.)
//
// The objects of calls are used again.
//
// Thread safety: Start and Stop are called by one thread.
#ifndef RINGSHIFT_SERVER_ROUTING_QUEUE_H_
#define RINGSHIFT_SERVER_ROUTING_QUEUE_H_

#include <grpcpp/alarm.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/async_unary_call.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "server/call_limit.h"
#include "server/completion.h"
#include "server/queue_calls.h"
#include "server/routing_handler.h"
#include "server/routing_method.h"
#include "server/routing_service.h"

namespace ringshift {

class RoutingQueue {
 public:
  // Calls that one connection may have open at once; more wait in the client. A quarter of the
  // calls that a router takes by default, so that one client alone does not keep the others out.
  static constexpr int kMaxCallsAConnection = 1024;

  // `queue` is one of the server that `service` is registered with. `others` are served too. What
  // is not owned outlives this object.
  RoutingQueue(std::unique_ptr<grpc::ServerCompletionQueue> queue, RoutingService& service,
               std::unique_ptr<RoutingHandler> handler, CallLimit& limit,
               std::vector<QueueCalls*> others);
  ~RoutingQueue();

  // Begins to take calls. REQUIRES: the server has started.
  void Start();

  // Ends the thread. REQUIRES: it was not started, or the server was shut down.
  void Stop();

 private:
  struct Call;

  class StopEvent final : public Completion {
   public:
    explicit StopEvent(RoutingQueue& queue) : queue_(queue) {}
    void OnEvent(bool ok) override;

   private:
    RoutingQueue& queue_;
  };

  void Run();
  // False when the queue is at its end.
  bool TakeEvents();
  void OnEvent(Call& call, bool ok);
  void DoWork();

  // Has the next call of this method come.
  void Expect(RoutingMethod method);
  void OnArrival(Call& call);
  void AnswerRoute(Call& call);
  void ContinueBatch();

  void Send(Call& call, const absl::Status& status, const grpc::ByteBuffer& response);
  void Refuse(Call& call, const absl::Status& status);
  // gRPC is about to have the answer, of so many bytes.
  void HandOver(Call& call, std::size_t bytes);
  // gRPC is done with the answer, or is not waited for.
  void Forget(Call& call);
  std::uint64_t CallsInHand() const;
  void Recycle(Call& call);

  const std::unique_ptr<grpc::ServerCompletionQueue> queue_;
  RoutingService& service_;
  const std::unique_ptr<RoutingHandler> handler_;
  CallLimit::Share permits_;
  const std::vector<QueueCalls*> others_;
  grpc::CompletionQueue nothing_;  // empty: to look at it is to look at the network
  int held_calls_ = 0;             // at most so many does gRPC hold
  std::thread thread_;
  StopEvent stop_{*this};
  grpc::Alarm stop_alarm_;

  // What follows is the thread's own.
  bool is_stopped_ = false;      // nothing may be begun in the queue
  std::size_t batch_bytes_ = 0;  // of the requests in batches_
  std::deque<Call*> waiting_;    // Route calls
  std::deque<Call*> batches_;    // the first one is under way if is_batch_started_
  bool is_batch_started_ = false;
  std::list<Call*> unsent_;           // answers that gRPC has, the oldest first
  std::size_t unsent_bytes_ = 0;      // that they take
  std::uint64_t handed_over_ = 0;     // answers that gRPC ever got
  std::uint64_t newest_of_sent_ = 0;  // which of them was the last that is sent
  std::vector<std::unique_ptr<Call>> spare_calls_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_QUEUE_H_
