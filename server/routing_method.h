// The methods of RoutingService that answer routing calls.
#ifndef RINGSHIFT_SERVER_ROUTING_METHOD_H_
#define RINGSHIFT_SERVER_ROUTING_METHOD_H_

namespace ringshift {

enum class RoutingMethod { kRoute, kRouteBatch };

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_ROUTING_METHOD_H_
