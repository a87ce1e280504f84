// A rollout as text, for stores: its plan, which never changes, and its state.
//
// A line for each value, always the same ones in the same order: a key, a space, and a number or a
// text in C escapes. What is read is checked as CheckPlan and Rollout say.
//
// Thread safety: pure functions. Cost: linear in the text.
#ifndef RINGSHIFT_MIGRATION_INTERNAL_ROLLOUT_TEXT_H_
#define RINGSHIFT_MIGRATION_INTERNAL_ROLLOUT_TEXT_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "migration/rollout.h"

namespace ringshift::internal {

std::string PlanToText(const RolloutPlan& plan);
// All of the rollout but its plan.
std::string StateToText(const Rollout& rollout);

// DATA_LOSS says which line makes no sense, of the plan or of the state.
absl::StatusOr<Rollout> ParseRollout(std::string_view plan, std::string_view state);

}  // namespace ringshift::internal

#endif  // RINGSHIFT_MIGRATION_INTERNAL_ROLLOUT_TEXT_H_
