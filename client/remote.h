// A connection to a router, with a deadline that holds, and what an unsuccessful call means for
// people.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_CLIENT_REMOTE_H_
#define RINGSHIFT_CLIENT_REMOTE_H_

#include <grpc/support/time.h>
#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <string>
#include <string_view>

#include "client/exit_code.h"

namespace CLI {
class App;
}

namespace ringshift {

struct RemoteOptions {
  std::string server;   // HOST:PORT, [IPv6]:PORT or unix:PATH
  std::string timeout;  // as ParseTimeout reads it
};

// Adds --server and --timeout to `command`, with these values if they are not given; both are
// checked when the command line is parsed.
void AddRemoteOptions(CLI::App& command, RemoteOptions& options, std::string_view default_server);

// Empty if `server` is of one of the forms above, else what is wrong with it.
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

  const std::shared_ptr<grpc::Channel>& channel() const { return channel_; }
  const std::string& server() const { return options_.server; }

  // Says what `status`, an error, means, and returns kUnreachable or kRefused. `prefix` comes
  // before it: "line 3: " or nothing.
  ExitCode FailCall(const grpc::Status& status, std::string_view prefix = "") const;

 private:
  const RemoteOptions options_;
  const gpr_timespec timeout_;
  gpr_timespec deadline_;  // monotonic, so that a step of the wall clock is nothing
  const std::shared_ptr<grpc::Channel> channel_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_REMOTE_H_
