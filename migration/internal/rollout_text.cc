#include "migration/internal/rollout_text.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "migration/internal/quote.h"

namespace ringshift::internal {
namespace {

constexpr std::int64_t kFormat = 1;

class Writer {
 public:
  void Int(std::string_view key, std::int64_t value) { Line(key, absl::StrCat(value)); }
  // 0: none.
  void OptionalInt(std::string_view key, std::optional<std::int64_t> value) {
    Int(key, value.value_or(0));
  }
  // Read back exactly.
  void Double(std::string_view key, double value) {
    std::array<char, 32> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    Line(key, std::string(digits.data(), end));
  }
  void Text(std::string_view key, const std::string& value) { Line(key, absl::CEscape(value)); }
  void Texts(std::string_view key, const std::vector<std::string>& values) {
    Int(key, static_cast<std::int64_t>(values.size()));
    for (const std::string& value : values) Text(key, value);
  }

  std::string Take() { return std::move(text_); }

 private:
  void Line(std::string_view key, const std::string& value) {
    text_ += key;
    text_ += ' ';
    text_ += value;
    text_ += '\n';
  }

  std::string text_;
};

// The first line that makes no sense ends it: what is read afterwards is nothing.
class Reader {
 public:
  Reader(std::string_view what, std::string_view text) : what_(what), rest_(text) {}

  std::int64_t Int(std::string_view key, std::int64_t min, std::int64_t max) {
    const std::string_view value = Line(key);
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < min ||
        number > max) {
      Fail(key, value);
      return min;
    }
    return number;
  }
  std::optional<std::int64_t> OptionalInt(std::string_view key, std::int64_t max) {
    const std::int64_t value = Int(key, 0, max);
    return value == 0 ? std::nullopt : std::optional(value);
  }
  double Double(std::string_view key) {
    const std::string_view value = Line(key);
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size()) Fail(key, value);
    return number;
  }
  std::string Text(std::string_view key) {
    const std::string_view value = Line(key);
    std::string text;
    if (!absl::CUnescape(absl::string_view(value.data(), value.size()), &text)) Fail(key, value);
    return text;
  }
  std::vector<std::string> Texts(std::string_view key) {
    std::vector<std::string> texts;
    // A count that is not true ends at the first line that is not there.
    for (std::int64_t count = Int(key, 0, INT64_MAX); status_.ok() && count > 0; --count) {
      texts.push_back(Text(key));
    }
    return texts;
  }

  // OK if there was nothing wrong, and nothing is left.
  absl::Status Finish() {
    if (!rest_.empty()) Fail("its end", rest_.substr(0, rest_.find('\n')));
    return status_;
  }
  bool ok() const { return status_.ok(); }

 private:
  // What stands behind the key.
  std::string_view Line(std::string_view key) {
    if (!status_.ok()) return {};
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end);
    const std::string_view head = line.substr(0, key.size());
    if (end == std::string_view::npos || head != key || line.size() == key.size() ||
        line[key.size()] != ' ') {
      Fail(key, line);
      return {};
    }
    rest_.remove_prefix(end + 1);
    ++line_;
    return line.substr(key.size() + 1);
  }

  void Fail(std::string_view key, std::string_view found) {
    if (!status_.ok()) return;
    status_ = absl::DataLossError(absl::StrCat("line ", line_, " of the ", std::string(what_),
                                               " of a rollout has ", Quote(found), " where ",
                                               std::string(key), " is expected"));
  }

  const std::string_view what_;
  std::string_view rest_;
  int line_ = 1;
  absl::Status status_;
};

std::int64_t Number(auto value) { return static_cast<std::int64_t>(value); }

RolloutStep ReadStep(Reader& in) {
  RolloutStep step;
  step.share = Share::FromPpm(in.Int("v2_ppm", 0, Share::kMaxPpm)).value_or(Share::None());
  step.bake = std::chrono::milliseconds(in.Int("bake_ms", 0, kMaxBake.count()));
  if (const auto churn = in.OptionalInt("max_churn_ppm", Share::kMaxPpm)) {
    step.limits.max_churn_ppm = static_cast<std::int32_t>(*churn);
  }
  step.limits.max_extra_misses_per_second = in.OptionalInt("max_extra_misses", INT64_MAX);
  step.data_centers = in.Texts("data_center");
  const std::int64_t guards = in.Int("guards", 0, Number(kMaxGuards));
  for (std::int64_t i = 0; in.ok() && i < guards; ++i) {
    Guard guard;
    guard.name = in.Text("guard");
    guard.query = in.Text("query");
    guard.comparison = static_cast<Comparison>(in.Int("comparison", 1, 4));
    guard.threshold = in.Double("threshold");
    guard.on_bad = static_cast<OnBad>(in.Int("on_bad", 1, 2));
    step.guards.push_back(std::move(guard));
  }
  return step;
}

}  // namespace

std::string PlanToText(const RolloutPlan& plan) {
  Writer out;
  out.Int("format", kFormat);
  out.Text("name", plan.name);
  out.Int("steps", Number(plan.steps.size()));
  for (const RolloutStep& step : plan.steps) {
    out.Int("v2_ppm", step.share.ppm());
    out.Int("bake_ms", step.bake.count());
    out.OptionalInt("max_churn_ppm", step.limits.max_churn_ppm);
    out.OptionalInt("max_extra_misses", step.limits.max_extra_misses_per_second);
    out.Texts("data_center", step.data_centers);
    out.Int("guards", Number(step.guards.size()));
    for (const Guard& guard : step.guards) {
      out.Text("guard", guard.name);
      out.Text("query", guard.query);
      out.Int("comparison", Number(guard.comparison));
      out.Double("threshold", guard.threshold);
      out.Int("on_bad", Number(guard.on_bad));
    }
  }
  return out.Take();
}

std::string StateToText(const Rollout& rollout) {
  Writer out;
  out.Int("format", kFormat);
  out.Int("phase", Number(rollout.phase));
  out.Int("step", Number(rollout.step));
  out.Int("changes", rollout.changes);
  out.Int("is_baking", rollout.is_baking ? 1 : 0);
  out.Int("baked_ms", rollout.baked.count());
  out.Texts("raised", rollout.raised);
  out.Texts("taken_out", rollout.taken_out);
  out.Text("actor", rollout.actor);
  out.Text("reason", rollout.reason);
  out.Int("create_time_us", rollout.create_time.time_since_epoch().count());
  out.Int("update_time_us", rollout.update_time.time_since_epoch().count());
  out.Int("executor_term", rollout.executor_term);
  out.Int("revision", rollout.revision);
  return out.Take();
}

absl::StatusOr<Rollout> ParseRollout(std::string_view plan, std::string_view state) {
  Rollout rollout;
  Reader in("plan", plan);
  in.Int("format", kFormat, kFormat);
  rollout.plan.name = in.Text("name");
  const std::int64_t steps = in.Int("steps", 1, Number(kMaxRolloutSteps));
  for (std::int64_t i = 0; in.ok() && i < steps; ++i) rollout.plan.steps.push_back(ReadStep(in));
  if (absl::Status status = in.Finish(); !status.ok()) return status;

  Reader more("state", state);
  more.Int("format", kFormat, kFormat);
  rollout.phase = static_cast<RolloutPhase>(more.Int("phase", 1, Number(RolloutPhase::kDone)));
  rollout.step = static_cast<std::size_t>(more.Int("step", 0, steps));
  rollout.changes = more.Int("changes", 0, INT64_MAX);
  rollout.is_baking = more.Int("is_baking", 0, 1) == 1;
  rollout.baked = std::chrono::milliseconds(more.Int("baked_ms", 0, INT64_MAX));
  rollout.raised = more.Texts("raised");
  rollout.taken_out = more.Texts("taken_out");
  rollout.actor = more.Text("actor");
  rollout.reason = more.Text("reason");
  rollout.create_time =
      WallTime(std::chrono::microseconds(more.Int("create_time_us", INT64_MIN, INT64_MAX)));
  rollout.update_time =
      WallTime(std::chrono::microseconds(more.Int("update_time_us", INT64_MIN, INT64_MAX)));
  rollout.executor_term = more.Int("executor_term", 0, INT64_MAX);
  rollout.revision = more.Int("revision", 1, INT64_MAX);
  if (absl::Status status = more.Finish(); !status.ok()) return status;
  if (absl::Status status = CheckRollout(rollout); !status.ok()) {
    return absl::DataLossError(status.message());
  }
  return rollout;
}

}  // namespace ringshift::internal
