#include "client/router_picker.h"

#include <algorithm>
#include <iterator>

namespace ringshift {
namespace {

bool Contains(std::span<const std::size_t> routers, std::size_t router) {
  return std::find(routers.begin(), routers.end(), router) != routers.end();
}

}  // namespace

RouterPicker::RouterPicker(std::size_t routers, std::size_t start)
    : states_(routers, RouterState::kConnecting),
      ejections_(routers),
      next_(start),
      next_again_(start) {}

void RouterPicker::SetState(std::size_t router, RouterState state) {
  // One that has just said that it serves has a new connection, or has started anew.
  if (state == RouterState::kServing && states_[router] != state) ejections_[router].OnAnswer();
  states_[router] = state;
  serving_.clear();
  not_serving_.clear();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == RouterState::kServing) serving_.push_back(i);
    if (states_[i] == RouterState::kNotServing) not_serving_.push_back(i);
  }
}

std::optional<std::size_t> RouterPicker::Pick(std::span<const std::size_t> tried, Time now) {
  if (serving_.empty()) return IsConnecting() ? std::nullopt : PickFrom(not_serving_, tried);
  const bool all_answer = std::none_of(ejections_.begin(), ejections_.end(),
                                       [](const Ejection& e) { return e.is_in_force(); });
  const std::optional<std::size_t> router =
      all_answer ? PickFrom(serving_, tried) : PickFrom(Answering(now), tried);
  if (router) ejections_[*router].OnSent(now);
  return router;
}

bool RouterPicker::HasOther(std::span<const std::size_t> tried, Time now) const {
  const std::vector<std::size_t> answering = Answering(now);
  return std::any_of(answering.begin(), answering.end(),
                     [&](std::size_t router) { return !Contains(tried, router); });
}

bool RouterPicker::IsConnecting() const {
  return std::find(states_.begin(), states_.end(), RouterState::kConnecting) != states_.end();
}

std::vector<std::size_t> RouterPicker::Answering(Time now) const {
  std::vector<std::size_t> answering;
  std::copy_if(serving_.begin(), serving_.end(), std::back_inserter(answering),
               [&](std::size_t router) { return ejections_[router].MayTake(now); });
  return answering.empty() ? serving_ : answering;
}

std::optional<std::size_t> RouterPicker::PickFrom(const std::vector<std::size_t>& routers,
                                                  std::span<const std::size_t> tried) {
  if (routers.empty()) return std::nullopt;
  if (tried.empty()) return routers[next_++ % routers.size()];
  std::vector<std::size_t> untried;
  std::copy_if(routers.begin(), routers.end(), std::back_inserter(untried),
               [&](std::size_t router) { return !Contains(tried, router); });
  const std::vector<std::size_t>& choice = untried.empty() ? routers : untried;
  return choice[next_again_++ % choice.size()];
}

}  // namespace ringshift
