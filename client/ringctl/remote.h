// A connection to a router, with a deadline that holds, and what an unsuccessful call means for
// people.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_RINGCTL_REMOTE_H_
#define RINGSHIFT_CLIENT_RINGCTL_REMOTE_H_

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <string_view>

#include "client/ringctl/exit_code.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ringshift {

struct RemoteOptions {
  std::string server;             // HOST:PORT, [IPv6]:PORT or unix:PATH
  std::string timeout;            // as ParseTimeout reads it
  bool server_was_given = false;  // on the command line
};

// The port of a router that a command talks to, and with it the server where none is given.
enum class RouterPort {
  kPublic,  // $RINGCTL_PUBLIC_SERVER, else 127.0.0.1:7400
  kAdmin,   // $RINGCTL_ADMIN_SERVER, else 127.0.0.1:7401
};

inline constexpr std::string_view kDefaultTimeout = "5s";

// Adds --server and --timeout to `command`. Where they are not given the environment counts
// ($RINGCTL_TIMEOUT is the timeout of all commands; an empty variable is none), and without that
// the default. All are checked when the command line is parsed, but for the environment where
// `offline`, an option of `command` with which it asks no router, is given. Takes the
// parse_complete_callback of `command`.
void AddRemoteOptions(CLI::App& command, RemoteOptions& options, RouterPort port,
                      std::string_view default_timeout = kDefaultTimeout,
                      const CLI::Option* offline = nullptr);

// Empty if `server` is an address of a router, else what is wrong with it.
std::string CheckServer(const std::string& server);

class Remote {
 public:
  // Connects in the background. The clock of the timeout starts. REQUIRES: checked options
  explicit Remote(const RemoteOptions& options);

  // Starts the clock again: after waiting for a person, or before a call that has a timeout of its
  // own.
  void RestartClock();

  // Gives `context` the deadline of the clock.
  void SetDeadline(grpc::ClientContext& context) const;

  // OK once there is a connection, UNAVAILABLE where there can be none, DEADLINE_EXCEEDED where
  // there is none by the deadline of the clock: for a call that changes something, since after it
  // an error would leave open whether the call was received.
  grpc::Status WaitUntilConnected() const;

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& server() const { return options_.server; }

  // " --server SERVER" if the user gave it, else "": what a command that the user may copy needs.
  std::string ServerFlag() const;

  // True if `status` is the router's own answer, false if it came about on the way to it.
  bool IsAnswer(const grpc::Status& status) const;

  // True if it may help to try again by itself: the router is not there, or has no room.
  static bool MayPass(const grpc::Status& status);

  // What `status`, an error, is: "cannot reach ...", "... answered NOT_FOUND: ...".
  std::string Describe(const grpc::Status& status) const;

  // Says what `status`, an error, means, and returns kUnreachable or kRefused. `prefix` comes
  // before it: "line 3: " or nothing. `advice` says what to do about the router's answer; where it
  // is empty, that is what the code means of most calls.
  ExitCode FailCall(const grpc::Status& status, std::string_view prefix = "",
                    std::string_view advice = "") const;

  // FailCall for a call that changes something, which is `done` ("ams was forgotten"): where the
  // error leaves open whether it is, says that too, and that `look` tells, and returns kUnknown.
  ExitCode FailChange(const grpc::Status& status, std::string_view done, std::string_view look,
                      std::string_view advice = "") const;

 private:
  const RemoteOptions options_;
  const gpr_timespec timeout_;
  gpr_timespec deadline_;  // monotonic, so that a step of the wall clock is nothing
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_RINGCTL_REMOTE_H_
