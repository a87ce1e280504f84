// Our side of the suite `peers`: a ring in a process of its own, as peers/src/pingora_peer.rs has
// pingora-ketama's.
//
// PROGRAM NODES WEIGHT POINTS_PER_WEIGHT KEYS HASHES has a fleet of the nodes 10.0.0.0:443,
// 10.0.0.1:443, ... of that weight. KEYS is a file of keys, one a line; HASHES one of keys of four
// bytes, one after the other, each of which stands for its own hash. It prints "ready" and then,
// for each line that it reads, one line of how many seconds that took:
//
//   build        a v2 ring of the fleet, in the place of the last one
//   keys FILE    the owner of each key of KEYS
//   hashes FILE  the owner of each hash of HASHES
//
// FILE has the owners then, IPv4 addresses of four little-endian bytes; writing them takes no time.
#ifndef RINGSHIFT_TESTS_BENCH_RING_PEER_H_
#define RINGSHIFT_TESTS_BENCH_RING_PEER_H_

#include <string>
#include <vector>

namespace ringshift::bench {

// Returns the exit code when stdin ends, or when something is wrong, which it says on stderr.
int RunRingPeer(const std::vector<std::string>& arguments);

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_RING_PEER_H_
