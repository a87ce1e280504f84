#include "server/outcome_calls.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/async_stream.h>
#include <grpcpp/support/byte_buffer.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "server/completion.h"
#include "server/read_message.h"
#include "server/status.h"

namespace ringshift {
namespace {

// Calls that gRPC can hand over while the thread is busy.
constexpr int kExpectedCalls = 4;

std::optional<RingVersion> FromProto(v1::RingVersion version) {
  switch (version) {
    case v1::RING_VERSION_V1:
      return RingVersion::kV1;
    case v1::RING_VERSION_V2:
      return RingVersion::kV2;
    default:
      return std::nullopt;
  }
}

std::optional<Outcome> FromProto(v1::Outcome outcome) {
  switch (outcome) {
    case v1::OUTCOME_HIT:
      return Outcome::kHit;
    case v1::OUTCOME_PREVIOUS_OWNER_HIT:
      return Outcome::kPreviousOwnerHit;
    case v1::OUTCOME_ORIGIN:
      return Outcome::kOrigin;
    case v1::OUTCOME_CONNECT_ERROR:
      return Outcome::kConnectError;
    case v1::OUTCOME_ERROR:
      return Outcome::kError;
    default:
      return std::nullopt;
  }
}

// What is wrong with it; "" if nothing is.
std::string Fault(const v1::OutcomeCount& outcome) {
  if (outcome.data_center().empty()) return "data_center is empty: name the data center";
  if (!FromProto(outcome.ring_version())) {
    return "ring_version is " + std::to_string(outcome.ring_version()) +
           "; give that of the answer, 1 or 2";
  }
  if (!FromProto(outcome.outcome())) {
    return "outcome is " + std::to_string(outcome.outcome()) + ", which is none";
  }
  if (outcome.count() < 1 || outcome.count() > kMaxOutcomeCount) {
    return "count is " + std::to_string(outcome.count()) + "; it must be 1 to " +
           std::to_string(kMaxOutcomeCount);
  }
  return "";
}

}  // namespace

absl::StatusOr<std::int64_t> CountOutcomes(const v1::ReportOutcomesRequest& report,
                                           OutcomeCounts& counts) {
  if (report.outcomes_size() > kMaxOutcomes) {
    return absl::InvalidArgumentError("the message has " + std::to_string(report.outcomes_size()) +
                                      " outcomes; it may have " + std::to_string(kMaxOutcomes));
  }
  for (int i = 0; i < report.outcomes_size(); ++i) {
    const std::string fault = Fault(report.outcomes(i));
    if (fault.empty()) continue;
    return absl::InvalidArgumentError("outcomes[" + std::to_string(i) + "]: " + fault +
                                      "; nothing of this message was counted");
  }
  std::int64_t sum = 0;  // at most 10^13
  for (const v1::OutcomeCount& outcome : report.outcomes()) {
    counts.Add(outcome.data_center(), *FromProto(outcome.ring_version()),
               *FromProto(outcome.outcome()), static_cast<std::uint64_t>(outcome.count()));
    sum += outcome.count();
  }
  return sum;
}

// From the time when it is expected until gRPC has nothing more to say of it; it then destroys
// itself.
class OutcomeCalls::Call final : private Completion {
 public:
  explicit Call(OutcomeCalls& calls) : calls_(calls) {
    context_.AsyncNotifyWhenDone(static_cast<Completion*>(&done_));
    calls_.service_.RequestReportOutcomes(&context_, &reader_, calls_.queue_, calls_.queue_,
                                          static_cast<Completion*>(this));
  }

  // The router stops. The read that is under way ends with the call.
  void End() {
    if (state_ == State::kReporting && !is_done_) Finish(Ending());
  }

 private:
  enum class State { kExpected, kReporting, kEnding, kEnded };

  // The call is over; it comes once for a call that has come.
  class Done final : public Completion {
   public:
    explicit Done(Call& call) : call_(call) {}
    void OnEvent(bool /*ok*/) override {
      call_.is_done_ = true;
      call_.DestroyIfOver();
    }

   private:
    Call& call_;
  };

  class Read final : public Completion {
   public:
    explicit Read(Call& call) : call_(call) {}
    void OnEvent(bool ok) override {
      call_.is_reading_ = false;
      if (call_.calls_.bell_.is_open()) call_.OnRead(ok);
      call_.DestroyIfOver();
    }

   private:
    Call& call_;
  };

  static absl::Status Ending() {
    return absl::UnavailableError("the router is stopping; report to another one");
  }

  // The call has come, or its end was sent.
  void OnEvent(bool ok) override {
    if (state_ == State::kExpected) {
      if (!ok || !calls_.bell_.is_open()) return OnNoCall(ok);
      OnArrival();
    } else {
      state_ = State::kEnded;
    }
    DestroyIfOver();
  }

  void OnNoCall(bool has_come) {
    state_ = State::kEnded;
    is_done_ = is_done_ || !has_come;
    DestroyIfOver();
  }

  void OnArrival() {
    calls_.Expect();
    if (calls_.is_ending_) return Finish(Ending());
    if (absl::Status ready = calls_.lifecycle_.CheckAnswering(); !ready.ok()) return Finish(ready);
    if (absl::Status may = calls_.reporters_.Check(context_.peer()); !may.ok()) return Finish(may);
    if (calls_.calls_.size() >= calls_.max_calls_) {
      return Finish(absl::ResourceExhaustedError(
          absl::string_view(std::to_string(calls_.calls_.size()) +
                            " clients report, as many as the router takes; wait a little, or "
                            "report to another one")));
    }
    state_ = State::kReporting;
    calls_.calls_.insert(this);
    ReadNext();
  }

  void ReadNext() {
    is_reading_ = true;
    reader_.Read(&request_, static_cast<Completion*>(&read_));
  }

  void OnRead(bool ok) {
    if (state_ != State::kReporting) return;
    if (!ok) return Finish(absl::OkStatus());  // the client has reported all, or is gone
    absl::Status status = ReadMessage(request_, calls_.report_);
    request_.Clear();
    if (status.ok()) {
      const absl::StatusOr<std::int64_t> counted = CountOutcomes(calls_.report_, calls_.counts_);
      status = counted.status();
      if (counted.ok()) count_ += std::min(*counted, kMaxCount - count_);
    }
    if (!status.ok()) return Finish(status);
    ReadNext();
  }

  void Finish(const absl::Status& status) {
    state_ = State::kEnding;
    Completion* const tag = this;
    if (!status.ok()) return reader_.FinishWithError(ToGrpcStatus(status), tag);
    v1::ReportOutcomesResponse response;
    response.set_count(count_);
    const grpc::Slice slice(response.SerializeAsString());
    reader_.Finish(grpc::ByteBuffer(&slice, 1), grpc::Status::OK, tag);
  }

  void DestroyIfOver() {
    const bool has_end =
        state_ == State::kEnded || (state_ == State::kReporting && !calls_.bell_.is_open());
    if (!is_done_ || is_reading_ || !has_end) return;
    calls_.calls_.erase(this);
    delete this;
  }

  static constexpr std::int64_t kMaxCount = std::numeric_limits<std::int64_t>::max();

  OutcomeCalls& calls_;
  grpc::ServerContext context_;
  grpc::ServerAsyncReader<grpc::ByteBuffer, grpc::ByteBuffer> reader_{&context_};
  Done done_{*this};
  Read read_{*this};
  grpc::ByteBuffer request_;
  std::int64_t count_ = 0;
  State state_ = State::kExpected;
  bool is_reading_ = false;
  bool is_done_ = false;
};

OutcomeCalls::OutcomeCalls(RoutingService& service, const Lifecycle& lifecycle,
                           const OutcomeReporters& reporters, OutcomeCounts& counts,
                           std::size_t max_calls)
    : service_(service),
      lifecycle_(lifecycle),
      reporters_(reporters),
      counts_(counts),
      max_calls_(max_calls) {}

void OutcomeCalls::Start(grpc::ServerCompletionQueue& queue) {
  queue_ = &queue;
  bell_.Open(queue);
  for (int i = 0; i < kExpectedCalls; ++i) Expect();
}

void OutcomeCalls::Stop() { bell_.Close(); }

void OutcomeCalls::End() {
  is_ending_ = true;
  bell_.Ring();
}

void OutcomeCalls::EndCalls() {
  for (Call* call : calls_) call->End();
}

void OutcomeCalls::Expect() {
  new Call(*this);  // destroys itself
}

}  // namespace ringshift
