// The watch methods of the services, for WatchCalls.
//
// Thread safety: what they return is used by the threads of its WatchCalls, and uses the arguments,
// which outlive it.
#ifndef RINGSHIFT_SERVER_WATCH_METHODS_H_
#define RINGSHIFT_SERVER_WATCH_METHODS_H_

#include "routing/routing_directory.h"
#include "server/lifecycle.h"
#include "server/migration_service.h"
#include "server/routing_service.h"
#include "server/watch_calls.h"

namespace ringshift {

WatchCalls::Method WatchRoutingMethod(RoutingService& service, const Lifecycle& lifecycle,
                                      const RoutingDirectory& directory);
WatchCalls::Method WatchMigrationsMethod(MigrationService& service, const Lifecycle& lifecycle);

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WATCH_METHODS_H_
