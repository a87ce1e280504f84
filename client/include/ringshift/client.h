// The client library of Ringshift: which cache node owns a key?
//
//   absl::StatusOr<std::unique_ptr<ringshift::Client>> client =
//       ringshift::Client::Create({{"router-1:7400", "router-2:7400"}});
//   if (!client.ok()) return client.status();
//
//   absl::StatusOr<ringshift::RouteReply> reply = (*client)->Route({"ams", "/img/1.jpg"});
//   if (reply.ok()) Fetch(reply->owner.address);
//
// One client serves a whole process: it keeps one connection to each router and uses it for all
// calls. Its own are a timer's thread and what gRPC has.
//
// Which router. Calls are spread evenly over the routers whose gRPC health is SERVING, which the
// client watches. While none is and some are still being connected, calls wait for those. If no
// router serves, calls go to those that are connected all the same: one that drains still answers,
// and one that starts says why it does not.
//
// A router that takes calls and answers none is passed over, as long as another one serves: after 5
// calls in a row ran into their deadline there it gets one call after 1 s, one more after 2 s, and
// so on up to every 30 s, until it answers one. (A call that was sent there with less than half of
// its time left does not count.) If it does not answer pings either, its connection is given up
// within 16 s.
//
// Retries. A call changes nothing, so one that ends with UNAVAILABLE is sent again, to another
// router if there is one, after a random, growing pause (up to 5 ms at first). One that a router
// refuses because it has too much to do (RESOURCE_EXHAUSTED) is sent to another one at once, if one
// serves that has not had it. A call is sent up to 3 times in all, and again only while a budget
// lasts, which every call adds a tenth of a retry to and which holds at most 100. So routers that
// are all in trouble get a tenth more calls than usual, not three times as many. Nothing else is
// sent again, nor is a batch that is too large for any router, which is RESOURCE_EXHAUSTED, too.
//
// Errors are those of the router, see the RPCs in ringshift/v1/routing.proto, with its address in
// front of the message. Besides:
//
//   UNAVAILABLE        no router can be reached; the message has the reasons.
//   DEADLINE_EXCEEDED  no answer within the timeout.
//   CANCELLED          the client is being destroyed, and nothing else.
//   INTERNAL           the answer of the router contradicts itself or is not complete.
//
// In tests of your own use FakeClient, of ringshift/fake_client.h, or write a Client: the two
// functions that are pure are all there is to it.
//
// Thread safety: thread-safe. It may be destroyed while calls are under way, Route and RouteBatch
// of other threads among them: they end with CANCELLED. No call may be started meanwhile.
#ifndef RINGSHIFT_CLIENT_H_
#define RINGSHIFT_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringshift {

struct ClientOptions {
  // Required, each once: HOST:PORT, [IPv6]:PORT or unix:PATH of the public port of a router. An
  // address is one router: where a name stands for several, one of them is connected to.
  std::vector<std::string> routers = {};
  // Of calls that have none of their own: from the call to its end, retries included. Above 0, at
  // most a day.
  std::chrono::microseconds timeout = std::chrono::seconds(1);
};

// Who owns this key?
struct RouteQuery {
  std::string data_center = {};  // as the topology names it
  std::string key = {};          // any bytes, 1 to 16,384 of them
  std::string pool = {};         // empty: `default`, every node
  int replicas = 1;              // distinct nodes wanted, the owner included: up to 16. 0 is 1
  std::chrono::microseconds timeout{0};  // 0: that of the options. Above a day is a day.
};

// Who owns these keys?
struct BatchQuery {
  std::string data_center = {};
  std::vector<std::string> keys = {};  // 1 to 10,000 and about 4 MiB. Equal ones may come often.
  std::string pool = {};
  std::chrono::microseconds timeout{0};
};

struct RoutedNode {
  std::string name = {};     // in the topology
  std::string address = {};  // HOST:PORT, as the topology has it
};

// What a router answered from. The same checksum, share, pool and key give the same answer on every
// router.
struct TableIdentity {
  std::uint64_t checksum = 0;
  std::int64_t migration_revision = 0;  // of the router's store; stores count apart
  std::int32_t v2_ppm = 0;              // the share of ring v2, parts per million
};

struct RouteReply {
  RoutedNode owner = {};
  // The next distinct nodes, in the order in which the key falls to them when those before are
  // gone.
  std::vector<RoutedNode> replicas = {};
  // The ring that answered: 1 or 2, or 0 for one that only newer clients know. The owner is good
  // all the same.
  int ring_version = 0;
  TableIdentity table = {};
  bool is_short = false;  // the pool has fewer nodes than were asked for
  // Where the object may still be warm: who owned the key before the last change that moved it. Ask
  // it from its cache alone, once, before the origin. None where that is a node above, or not
  // known.
  std::optional<RoutedNode> previous_owner = {};
};

// All of it from one table.
struct BatchReply {
  // Each that owns a key or is its previous owner, once.
  std::vector<RoutedNode> nodes = {};
  std::vector<std::uint32_t> owner_indexes = {};  // for each key, in nodes
  std::vector<std::uint8_t> ring_versions = {};   // for each key, as in RouteReply
  TableIdentity table = {};
  // For each key, 1 + the place of its previous owner in nodes, or 0; empty where no key has one.
  std::vector<std::uint32_t> previous_owner_places = {};

  std::size_t size() const { return owner_indexes.size(); }
  // REQUIRES: key < size(), the place of the key in the query
  const RoutedNode& owner(std::size_t key) const { return nodes[owner_indexes[key]]; }
  // As in RouteReply; null where the key has none. REQUIRES: key < size()
  const RoutedNode* previous_owner(std::size_t key) const {
    const std::uint32_t place = previous_owner_places.empty() ? 0 : previous_owner_places[key];
    return place == 0 ? nullptr : &nodes[place - 1];
  }
};

class Client {
 public:
  // What a call came to. Called once, by a thread of the client's, and gone before the client is.
  // It must not block, call Route or RouteBatch, or destroy the client, also not by holding the
  // last reference to it. It may start further calls, but not when its status is CANCELLED.
  using RouteCallback = std::function<void(absl::StatusOr<RouteReply>)>;
  using BatchCallback = std::function<void(absl::StatusOr<BatchReply>)>;

  // Connects in the background: it does not wait, and routers need not be there yet.
  //
  // INVALID_ARGUMENT: no router, one that is no address or comes twice, a timeout out of range.
  static absl::StatusOr<std::unique_ptr<Client>> Create(const ClientOptions& options);

  // Ends the calls under way with CANCELLED, and returns when their callbacks have.
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Wait for the answer.
  absl::StatusOr<RouteReply> Route(RouteQuery query);
  absl::StatusOr<BatchReply> RouteBatch(BatchQuery query);

  // Return at once.
  virtual void RouteAsync(RouteQuery query, RouteCallback done) = 0;
  virtual void RouteBatchAsync(BatchQuery query, BatchCallback done) = 0;

 protected:
  Client() = default;
};

}  // namespace ringshift

#endif  // RINGSHIFT_CLIENT_H_
