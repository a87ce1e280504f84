#include "client/router_picker.h"

#include <algorithm>
#include <iterator>

namespace ringshift {

RouterPicker::RouterPicker(std::size_t routers, std::size_t start)
    : states_(routers, RouterState::kConnecting), next_(start), next_again_(start) {}

void RouterPicker::SetState(std::size_t router, RouterState state) {
  states_[router] = state;
  serving_.clear();
  not_serving_.clear();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (states_[i] == RouterState::kServing) serving_.push_back(i);
    if (states_[i] == RouterState::kNotServing) not_serving_.push_back(i);
  }
}

std::optional<std::size_t> RouterPicker::Pick(std::span<const std::size_t> tried) {
  if (!serving_.empty()) return PickFrom(serving_, tried);
  if (IsConnecting()) return std::nullopt;
  return PickFrom(not_serving_, tried);
}

bool RouterPicker::IsConnecting() const {
  return std::find(states_.begin(), states_.end(), RouterState::kConnecting) != states_.end();
}

std::optional<std::size_t> RouterPicker::PickFrom(const std::vector<std::size_t>& routers,
                                                  std::span<const std::size_t> tried) {
  if (routers.empty()) return std::nullopt;
  if (tried.empty()) return routers[next_++ % routers.size()];
  std::vector<std::size_t> untried;
  std::copy_if(routers.begin(), routers.end(), std::back_inserter(untried),
               [&](std::size_t router) {
                 return std::find(tried.begin(), tried.end(), router) == tried.end();
               });
  const std::vector<std::size_t>& choice = untried.empty() ? routers : untried;
  return choice[next_again_++ % choice.size()];
}

}  // namespace ringshift
