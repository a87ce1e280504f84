// The calls that a load makes, and the check of what comes back. A benchmark whose server answers
// anything else has no figures.
//
// Thread safety: a Questions is used by one thread.
#ifndef RINGSHIFT_TESTS_BENCH_QUESTIONS_H_
#define RINGSHIFT_TESTS_BENCH_QUESTIONS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "ringshift/v1/routing.pb.h"
#include "tests/bench/workload.h"

namespace ringshift::bench {

template <typename RequestType, typename ResponseType>
class Questions {
 public:
  using Request = RequestType;
  using Response = ResponseType;

  virtual ~Questions() = default;
  // Call `index`, which counts on without end. Valid until the next one.
  virtual const Request& Ask(std::size_t index) = 0;
  // INTERNAL if it is not the right answer to call `index`; the message has both.
  virtual absl::Status Check(std::size_t index, const Response& response) const = 0;
};

// Route, one key after the other.
class RouteQuestions final : public Questions<v1::RouteRequest, v1::RouteResponse> {
 public:
  // The workload outlives it.
  explicit RouteQuestions(const Workload& workload);

  const Request& Ask(std::size_t index) override;
  absl::Status Check(std::size_t index, const Response& response) const override;

 private:
  const Workload& workload_;
  Request request_;
};

// RouteBatch. All of the requests are made at the start, so that asking costs next to nothing.
class BatchQuestions final : public Questions<v1::RouteBatchRequest, v1::RouteBatchResponse> {
 public:
  // The workload outlives it. REQUIRES: its keys are a multiple of batch_keys.
  BatchQuestions(const Workload& workload, std::size_t batch_keys);

  const Request& Ask(std::size_t index) override { return requests_[index % requests_.size()]; }
  absl::Status Check(std::size_t index, const Response& response) const override;

 private:
  const Workload& workload_;
  const std::size_t batch_keys_;
  std::vector<Request> requests_;
};

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_QUESTIONS_H_
