#include "routing/rollout_plan_loader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "routing/internal/yaml_reader.h"
#include "routing/internal/yaml_tree.h"

namespace ringshift {
namespace {

using internal::kOptional;
using internal::kRequired;
using internal::YamlNode;
using internal::YamlReader;

constexpr YamlReader::Alphabet kGroupName = {
    .capitals = false, .others = "-", .max_bytes = 63, .expected = "1 to 63 of a-z, 0-9 and -"};
constexpr YamlReader::Alphabet kGuardName = {.capitals = true,
                                             .others = "._-",
                                             .max_bytes = 63,
                                             .expected = "1 to 63 of A-Z, a-z, 0-9, ., _ and -"};

constexpr char kPercent[] = "more than 0 and at most 100, with up to four decimals";
constexpr char kDuration[] = "a whole number and s, m, h or d, up to 30d";
constexpr char kCondition[] = "\"OP NUMBER\", OP being <, <=, > or >=";

// A share that is not none: "12.5".
absl::StatusOr<Share> ReadPercent(const YamlReader& reader, const YamlNode& node,
                                  std::string_view what) {
  const absl::StatusOr<Share> share = node.kind == YamlNode::Kind::kText && !node.quoted
                                          ? Share::ParsePercent(node.text)
                                          : absl::StatusOr<Share>(absl::InvalidArgumentError(""));
  if (!share.ok() || *share == Share::None()) return reader.Unexpected(node, what, kPercent);
  return share;
}

// "90s", "30m", "2h", "1d".
std::optional<std::chrono::milliseconds> ParseDuration(const std::string& text) {
  if (text.size() < 2) return std::nullopt;
  std::int64_t seconds = 0;
  switch (text.back()) {
    case 's':
      seconds = 1;
      break;
    case 'm':
      seconds = 60;
      break;
    case 'h':
      seconds = 3600;
      break;
    case 'd':
      seconds = 86'400;
      break;
    default:
      return std::nullopt;
  }
  const std::string digits = text.substr(0, text.size() - 1);
  if (digits.find_first_not_of("0123456789") != std::string::npos ||
      (digits.front() == '0' && digits.size() > 1)) {
    return std::nullopt;
  }
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const std::int64_t max_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(kMaxBake).count();
  if (error != std::errc() || count > max_seconds / seconds) return std::nullopt;
  return std::chrono::seconds(count * seconds);
}

struct Condition {
  Comparison comparison;
  double threshold;
};

// "< 0.01".
std::optional<Condition> ParseCondition(const std::string& text) {
  const std::size_t space = text.find(' ');
  if (space == std::string::npos) return std::nullopt;
  std::optional<Comparison> comparison;
  for (const Comparison known :
       {Comparison::kBelow, Comparison::kAtMost, Comparison::kAbove, Comparison::kAtLeast}) {
    if (ComparisonName(known) == text.substr(0, space)) comparison = known;
  }
  double threshold = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data() + space + 1, last, threshold);
  if (!comparison || error != std::errc() || end != last || !std::isfinite(threshold)) {
    return std::nullopt;
  }
  return Condition{*comparison, threshold};
}

class Loader {
 public:
  explicit Loader(std::string_view file) : reader_(file) {}

  absl::StatusOr<WrittenRolloutPlan> Load(const YamlNode& root) {
    const YamlNode* name = nullptr;
    const YamlNode* steps = nullptr;
    const YamlNode* guards = nullptr;
    const YamlNode* limits = nullptr;
    absl::Status status = reader_.ReadMap(root, "the plan",
                                          {{"name", kRequired, &name},
                                           {"steps", kRequired, &steps},
                                           {"guards", kOptional, &guards},
                                           {"limits", kOptional, &limits}});
    if (!status.ok()) return status;
    WrittenRolloutPlan plan;
    absl::StatusOr<std::string> text = reader_.ReadName(*name, "name of a rollout", kGroupName);
    if (!text.ok()) return text.status();
    plan.name = *std::move(text);
    WrittenRolloutStep common;
    if (status = ReadGuards(guards, common.guards); !status.ok()) return status;
    if (status = ReadLimits(limits, common.limits); !status.ok()) return status;
    if (steps->kind != YamlNode::Kind::kList || steps->items.empty() ||
        steps->items.size() > kMaxRolloutSteps) {
      return reader_.Unexpected(*steps, "steps",
                                absl::StrCat("a list of 1 to ", kMaxRolloutSteps, " steps"));
    }
    for (const YamlNode& item : steps->items) {
      WrittenRolloutStep step = common;
      if (status = ReadStep(item, step); !status.ok()) return status;
      plan.steps.push_back(std::move(step));
    }
    return plan;
  }

 private:
  absl::Status ReadStep(const YamlNode& node, WrittenRolloutStep& step) {
    const YamlNode* data_centers = nullptr;
    const YamlNode* tier = nullptr;
    const YamlNode* all = nullptr;
    const YamlNode* percent = nullptr;
    const YamlNode* bake = nullptr;
    const YamlNode* guards = nullptr;
    const YamlNode* limits = nullptr;
    absl::Status status = reader_.ReadMap(node, "a step",
                                          {{"data_centers", kOptional, &data_centers},
                                           {"tier", kOptional, &tier},
                                           {"all", kOptional, &all},
                                           {"percent", kRequired, &percent},
                                           {"bake", kRequired, &bake},
                                           {"guards", kOptional, &guards},
                                           {"limits", kOptional, &limits}});
    if (!status.ok()) return status;
    const int selectors = int{data_centers != nullptr} + int{tier != nullptr} + int{all != nullptr};
    if (selectors != 1) {
      return reader_.Error(
          node.place,
          absl::StrCat("a step with ", selectors, " of the keys data_centers, tier and all"),
          "one of them");
    }
    if (data_centers != nullptr) status = ReadNames(*data_centers, step.selector.data_centers);
    if (status.ok() && tier != nullptr) {
      absl::StatusOr<std::string> text = reader_.ReadName(*tier, "tier", kGroupName);
      if (!text.ok()) return text.status();
      step.selector.tier = *std::move(text);
    }
    if (status.ok() && all != nullptr) {
      step.selector.all = all->kind == YamlNode::Kind::kText && !all->quoted && all->text == "true";
      if (!step.selector.all) return reader_.Unexpected(*all, "all", "true");
    }
    if (!status.ok()) return status;
    const absl::StatusOr<Share> share = ReadPercent(reader_, *percent, "percent");
    if (!share.ok()) return share.status();
    step.share = *share;
    const std::optional<std::chrono::milliseconds> time =
        bake->kind == YamlNode::Kind::kText ? ParseDuration(bake->text) : std::nullopt;
    if (!time.has_value()) return reader_.Unexpected(*bake, "bake", kDuration);
    step.bake = *time;
    if (status = ReadGuards(guards, step.guards); !status.ok()) return status;
    return ReadLimits(limits, step.limits);
  }

  absl::Status ReadNames(const YamlNode& node, std::vector<std::string>& names) {
    if (node.kind != YamlNode::Kind::kList || node.items.empty()) {
      return reader_.Unexpected(node, "data_centers", "a list of at least one data center");
    }
    std::set<std::string> seen;
    for (const YamlNode& item : node.items) {
      absl::StatusOr<std::string> name =
          reader_.ReadName(item, "name of a data center", kGroupName);
      if (!name.ok()) return name.status();
      if (!seen.insert(*name).second) {
        return reader_.Error(item.place, absl::StrCat("data center ", *name, " twice"),
                             "each data center once");
      }
      names.push_back(*std::move(name));
    }
    return absl::OkStatus();
  }

  // Takes the place of `guards`, if there are any written down.
  absl::Status ReadGuards(const YamlNode* node, std::vector<Guard>& guards) {
    if (node == nullptr) return absl::OkStatus();
    guards.clear();
    if (node->kind != YamlNode::Kind::kList || node->items.size() > kMaxGuards) {
      return reader_.Unexpected(*node, "guards",
                                absl::StrCat("a list of up to ", kMaxGuards, " guards"));
    }
    for (const YamlNode& item : node->items) {
      Guard guard;
      if (absl::Status status = ReadGuard(item, guard); !status.ok()) return status;
      if (std::any_of(guards.begin(), guards.end(),
                      [&guard](const Guard& other) { return other.name == guard.name; })) {
        return reader_.Error(item.place, absl::StrCat("a second guard called ", guard.name),
                             "another name");
      }
      guards.push_back(std::move(guard));
    }
    return absl::OkStatus();
  }

  absl::Status ReadGuard(const YamlNode& node, Guard& guard) {
    const YamlNode* name = nullptr;
    const YamlNode* query = nullptr;
    const YamlNode* good_if = nullptr;
    const YamlNode* on_bad = nullptr;
    absl::Status status = reader_.ReadMap(node, "a guard",
                                          {{"name", kRequired, &name},
                                           {"query", kRequired, &query},
                                           {"good_if", kRequired, &good_if},
                                           {"on_bad", kRequired, &on_bad}});
    if (!status.ok()) return status;
    absl::StatusOr<std::string> text = reader_.ReadName(*name, "name of a guard", kGuardName);
    if (!text.ok()) return text.status();
    guard.name = *std::move(text);
    if (query->kind != YamlNode::Kind::kText || query->text.empty() ||
        query->text.size() > kMaxQueryBytes) {
      return reader_.Unexpected(*query, "query",
                                absl::StrCat("PromQL of 1 to ", kMaxQueryBytes, " bytes"));
    }
    guard.query = query->text;
    const std::optional<Condition> condition =
        good_if->kind == YamlNode::Kind::kText ? ParseCondition(good_if->text) : std::nullopt;
    if (!condition.has_value()) return reader_.Unexpected(*good_if, "good_if", kCondition);
    guard.comparison = condition->comparison;
    guard.threshold = condition->threshold;
    if (on_bad->kind == YamlNode::Kind::kText && on_bad->text == "pause") {
      guard.on_bad = OnBad::kPause;
    } else if (on_bad->kind == YamlNode::Kind::kText && on_bad->text == "abort") {
      guard.on_bad = OnBad::kAbort;
    } else {
      return reader_.Unexpected(*on_bad, "on_bad", "pause or abort");
    }
    return absl::OkStatus();
  }

  // Takes the place of `limits`, if there are any written down.
  absl::Status ReadLimits(const YamlNode* node, RolloutLimits& limits) {
    if (node == nullptr) return absl::OkStatus();
    limits = RolloutLimits();
    const YamlNode* churn = nullptr;
    const YamlNode* misses = nullptr;
    absl::Status status = reader_.ReadMap(*node, "limits",
                                          {{"max_churn_percent", kOptional, &churn},
                                           {"max_extra_misses_per_second", kOptional, &misses}});
    if (!status.ok()) return status;
    if (churn != nullptr) {
      const absl::StatusOr<Share> share = ReadPercent(reader_, *churn, "max_churn_percent");
      if (!share.ok()) return share.status();
      limits.max_churn_ppm = share->ppm();
    }
    if (misses != nullptr) {
      const absl::StatusOr<std::uint32_t> number = reader_.ReadWholeNumber(
          *misses, "max_extra_misses_per_second", 1, std::numeric_limits<std::uint32_t>::max());
      if (!number.ok()) return number.status();
      limits.max_extra_misses_per_second = *number;
    }
    return absl::OkStatus();
  }

  const YamlReader reader_;
};

}  // namespace

absl::StatusOr<WrittenRolloutPlan> ParseRolloutPlan(std::string_view yaml, std::string_view file) {
  if (yaml.size() > kMaxRolloutPlanBytes) {
    return internal::ErrorAt(file, internal::Place(),
                             absl::StrCat("a plan of ", yaml.size(), " bytes"),
                             absl::StrCat("at most ", kMaxRolloutPlanBytes));
  }
  const absl::StatusOr<YamlNode> root = internal::ParseYaml(yaml, file);
  if (!root.ok()) return root.status();
  return Loader(file).Load(*root);
}

absl::StatusOr<RolloutPlan> ResolvePlan(const WrittenRolloutPlan& plan,
                                        const ResolveSelector& resolve) {
  RolloutPlan resolved{plan.name, {}};
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const WrittenRolloutStep& written = plan.steps[i];
    absl::StatusOr<std::vector<std::string>> names = resolve(written.selector);
    if (!names.ok()) {
      return absl::Status(names.status().code(),
                          absl::StrCat("step ", i + 1, ": ", names.status().message()));
    }
    std::sort(names->begin(), names->end());
    resolved.steps.push_back(
        {*std::move(names), written.share, written.bake, written.guards, written.limits});
  }
  if (absl::Status status = CheckPlan(resolved); !status.ok()) return status;
  return resolved;
}

}  // namespace ringshift
