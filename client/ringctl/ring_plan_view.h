// How `ringctl ring plan` shows a plan.
//
// Thread safety: pure functions on values.
#ifndef RINGSHIFT_CLIENT_RINGCTL_RING_PLAN_VIEW_H_
#define RINGSHIFT_CLIENT_RINGCTL_RING_PLAN_VIEW_H_

#include <string>

#include "client/ringctl/output.h"
#include "client/ringctl/ring_plan.h"

namespace ringshift {

// For people: a row for each ring, then what is recommended, with the lines for the topology file.
void PrintPlan(const RingPlan& plan, Output& output);

// For scripts: one JSON object and a newline, as docs/ringctl.md describes it.
std::string PlanAsJson(const RingPlan& plan);

// "a CV of at most 1.00%", "at most 512.0 MiB".
std::string GoalText(const PlanGoal& goal);

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_RING_PLAN_VIEW_H_
