// What an event of a completion queue belongs to. Its address is the event's tag.
//
// Thread safety: that of its queue; one thread takes events.
#ifndef RINGSHIFT_SERVER_COMPLETION_H_
#define RINGSHIFT_SERVER_COMPLETION_H_

namespace ringshift {

class Completion {
 public:
  // `ok` as gRPC has it. May destroy the object.
  virtual void OnEvent(bool ok) = 0;

 protected:
  ~Completion() = default;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_COMPLETION_H_
