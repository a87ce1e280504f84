// The messages of the watch methods.
//
// Thread safety: pure functions.
#ifndef RINGSHIFT_SERVER_WATCH_MESSAGES_H_
#define RINGSHIFT_SERVER_WATCH_MESSAGES_H_

#include <grpcpp/support/byte_buffer.h>

#include <string>

#include "ringshift/v1/migration.pb.h"
#include "ringshift/v1/routing.pb.h"
#include "routing/routing_table.h"
#include "server/change_feed.h"
#include "server/migration_controller.h"

namespace ringshift {

// All that decides the answers of a table. Cost: linear in its nodes.
void ToProto(const RoutingTable& table, v1::RoutingState& proto);

// The bytes of a response that has nothing but this state.
std::string RoutingStateMessage(const RoutingTable& table);
// Without what is measured, which changes with each request.
std::string MigrationMessage(const MigrationController::View& view);

// A response with these news, whose states are such bytes, which it shares.
grpc::ByteBuffer WatchRoutingMessage(const ChangeFeed::News& news);
grpc::ByteBuffer WatchMigrationsMessage(const ChangeFeed::News& news);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WATCH_MESSAGES_H_
