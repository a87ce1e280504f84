// A RoutingServer with the streams of a test, which a client calls over the network.
//
// Thread safety: thread-compatible.
#ifndef RINGSHIFT_TESTS_UNIT_SERVER_STREAM_SERVER_H_
#define RINGSHIFT_TESTS_UNIT_SERVER_STREAM_SERVER_H_

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ringshift/v1/routing.grpc.pb.h"
#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/routing_server.h"
#include "server/table_handler.h"
#include "tests/testing/status_matchers.h"

namespace ringshift::testing {

// Far above what a loaded machine needs.
inline constexpr std::chrono::seconds kPatience{60};

// A test failure if `is_so` does not become true.
inline void WaitUntil(const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "it does not become so";
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// What a call of `Stub` has on the client's side: it may not take for ever.
inline void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
}

class StreamServer {
 public:
  StreamServer(RoutingService& service, const Lifecycle& lifecycle, RoutingDirectory& directory,
               const std::vector<QueueCalls*>& streams) {
    ListenAddress address{"127.0.0.1", 0};
    auto server = RoutingServer::Start(
        address, {}, service,
        [&] { return std::make_unique<TableHandler>(lifecycle, directory, nullptr); }, streams);
    EXPECT_THAT(server.status(), IsOk());
    if (server.ok()) server_ = *std::move(server);
    address_ = address.ToString();
  }

  // On a connection of its own.
  std::unique_ptr<v1::RoutingService::Stub> NewStub() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetMaxReceiveMessageSize(64 << 20);
    return v1::RoutingService::NewStub(
        grpc::CreateCustomChannel(address_, grpc::InsecureChannelCredentials(), arguments));
  }

  void Shutdown() { server_->Shutdown(std::chrono::system_clock::now() + kPatience); }

 private:
  std::unique_ptr<RoutingServer> server_;
  std::string address_;
};

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_UNIT_SERVER_STREAM_SERVER_H_
