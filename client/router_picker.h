// Which router a call goes to, from what is known of their health: one after the other of those
// that serve, so that each gets the same part of the calls, also one that has just come back.
//
//   RouterPicker picker(2, random);
//   picker.SetState(0, RouterState::kServing);
//   std::optional<std::size_t> router = picker.Pick({}, now);   // 0
//   ...
//   picker.OnAnswer(0);
//
// One that serves and answers no call is passed over (see Ejection) while there is another one.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_ROUTER_PICKER_H_
#define RINGSHIFT_CLIENT_ROUTER_PICKER_H_

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "client/ejection.h"

namespace ringshift {

enum class RouterState {
  kConnecting,  // nothing is known yet, or not any more
  kServing,
  kNotServing,  // connected, but it starts, drains, or is not a router
  kDown,        // cannot be reached
};

class RouterPicker {
 public:
  using Time = Ejection::Time;

  // All are kConnecting. `start` is anything: clients that start together should not all begin with
  // the same router.
  RouterPicker(std::size_t routers, std::size_t start);

  // REQUIRES: router < the number of routers
  void SetState(std::size_t router, RouterState state);

  // The router that a call goes to now: one that serves, outside of `tried` if there is one. Where
  // none serves: none while one is kConnecting, which is worth waiting for, then one that is
  // kNotServing, in the same way. None if there is none of these.
  std::optional<std::size_t> Pick(std::span<const std::size_t> tried, Time now);

  // How a call that went to a router ended: with an answer, which may be an error, or at its
  // deadline.
  void OnAnswer(std::size_t router) { ejections_[router].OnAnswer(); }
  void OnTimeout(std::size_t router, Time now) { ejections_[router].OnTimeout(now); }

  // Whether a router outside of `tried` serves and is not passed over.
  bool HasOther(std::span<const std::size_t> tried, Time now) const;

  // Whether one is kConnecting.
  bool IsConnecting() const;

 private:
  // Of those that serve, those that are not passed over; all where that leaves none.
  std::vector<std::size_t> Answering(Time now) const;
  std::optional<std::size_t> PickFrom(const std::vector<std::size_t>& routers,
                                      std::span<const std::size_t> tried);

  std::vector<RouterState> states_;
  std::vector<Ejection> ejections_;       // by router
  std::vector<std::size_t> serving_;      // in the order of the routers
  std::vector<std::size_t> not_serving_;  // likewise
  // Both count up; the remainder is the place in a list. What is sent again does not take a turn
  // from the first attempts: where a call fails at one of two routers, that would give the same one
  // the next call, too.
  std::size_t next_;
  std::size_t next_again_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_ROUTER_PICKER_H_
