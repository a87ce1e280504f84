// What the watch methods show of a router: the states of its routing tables and of its migrations,
// in feeds. It is told to look, and finds what has changed by itself.
//
// Thread safety: Look is called by one thread at a time; the feeds are thread-safe.
#ifndef RINGSHIFT_SERVER_WATCH_STATES_H_
#define RINGSHIFT_SERVER_WATCH_STATES_H_

#include <map>
#include <memory>
#include <string>

#include "routing/routing_directory.h"
#include "server/change_feed.h"
#include "server/migration_controller.h"

namespace ringshift {

class WatchStates {
 public:
  // Both outlive this object.
  WatchStates(const RoutingDirectory& directory, const MigrationController& migrations);

  // What has changed since the last look.
  struct Changes {
    bool routing = false;
    bool migrations = false;
  };
  // Takes up what is now. A migration of a data center that is not served is looked at each
  // kLooksAtUnserved times. Cost: where no table has changed, a comparison for each of them; else
  // that of the tables that have and of all migrations.
  Changes Look();
  static constexpr int kLooksAtUnserved = 10;

  // By data center: the bytes of a WatchRoutingResponse, and of a WatchMigrationsResponse, that has
  // nothing but its state. A response is these one after the other.
  const ChangeFeed& routing() const { return routing_; }
  const ChangeFeed& migrations() const { return migrations_; }

 private:
  // Returns whether there is another table than at the last look.
  bool TakeTables();
  ChangeFeed::States MigrationStates() const;

  const RoutingDirectory& directory_;
  const MigrationController& controller_;
  ChangeFeed routing_;
  ChangeFeed migrations_;
  // At the last look. They keep no ring from being given back.
  std::map<std::string, std::weak_ptr<const RoutingTable>> tables_;
  ChangeFeed::States states_;  // of them
  int looks_ = 0;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_WATCH_STATES_H_
