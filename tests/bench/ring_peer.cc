#include "tests/bench/ring_peer.h"

#include <malloc.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "ring/node_set.h"
#include "ring/ring.h"

namespace ringshift::bench {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class RingPeer {
 public:
  RingPeer(std::uint32_t nodes, std::uint32_t weight, std::uint32_t points_per_weight,
           const std::string& keys_path, const std::string& hashes_path)
      : nodes_(nodes), weight_(weight), key_text_(ReadAll(keys_path)) {
    parameters_ = DefaultRingParameters(RingVersion::kV2);
    parameters_.points_per_weight = points_per_weight;
    for (std::string_view rest = key_text_; !rest.empty();) {
      const std::size_t end = rest.find('\n');
      keys_.push_back(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    const std::string hashed = ReadAll(hashes_path);
    for (std::size_t i = 0; i + 4 <= hashed.size(); i += 4) {
      hashes_.push_back(Ring::Position(std::string_view(hashed).substr(i, 4)));
    }
  }

  absl::StatusOr<Seconds> Build() {
    ring_.reset();
    const Clock::time_point start = Clock::now();
    std::vector<RingNode> nodes;
    for (std::uint32_t i = 0; i < nodes_; ++i) {
      std::string address = absl::StrCat("10.0.", i / 256, ".", i % 256, ":443");
      absl::StatusOr<RingIdentity> identity =
          RingIdentity::Parse(address, IdentityStyle::kCanonical);
      if (!identity.ok()) return identity.status();
      nodes.push_back({std::move(address), *std::move(identity), weight_});
    }
    absl::StatusOr<std::shared_ptr<const NodeSet>> node_set = NodeSet::Create(std::move(nodes));
    if (!node_set.ok()) return node_set.status();
    absl::StatusOr<std::shared_ptr<const Ring>> ring = Ring::Build(*node_set, parameters_);
    if (!ring.ok()) return ring.status();
    ring_ = *std::move(ring);
    // The nodes are in the order of their addresses.
    address_of_.clear();
    for (std::uint32_t i = 0; i < nodes_; ++i) address_of_.push_back(0x0A000000 + i);
    return Clock::now() - start;
  }

  absl::StatusOr<Seconds> LookUpKeys(const std::string& path) {
    owners_.resize(keys_.size());
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < keys_.size(); ++i) owners_[i] = address_of_[ring_->Owner(keys_[i])];
    return WriteOwners(path, Clock::now() - start);
  }

  absl::StatusOr<Seconds> LookUpHashes(const std::string& path) {
    owners_.resize(hashes_.size());
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < hashes_.size(); ++i) {
      owners_[i] = address_of_[ring_->OwnerAt(hashes_[i])];
    }
    return WriteOwners(path, Clock::now() - start);
  }

  absl::StatusOr<Seconds> Run(std::string_view command, const std::string& file) {
    if (command == "build") return Build();
    if (ring_ && command == "keys") return LookUpKeys(file);
    if (ring_ && command == "hashes") return LookUpHashes(file);
    return absl::InvalidArgumentError(absl::StrCat("unexpected command ", std::string(command)));
  }

 private:
  absl::StatusOr<Seconds> WriteOwners(const std::string& path, Seconds time) const {
    std::string bytes;
    for (const std::uint32_t owner : owners_) {
      for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(owner >> shift & 0xFF);
    }
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    if (file.flush()) return time;
    return absl::UnavailableError("cannot write " + path);
  }

  const std::uint32_t nodes_;
  const std::uint32_t weight_;
  RingParameters parameters_;
  const std::string key_text_;
  std::vector<std::string_view> keys_;
  std::vector<std::uint32_t> hashes_;
  std::shared_ptr<const Ring> ring_;
  std::vector<std::uint32_t> address_of_;  // by node index
  std::vector<std::uint32_t> owners_;
};

}  // namespace

int RunRingPeer(const std::vector<std::string>& arguments) {
  std::uint32_t nodes = 0, weight = 0, points_per_weight = 0;
  if (arguments.size() != 5 || !absl::SimpleAtoi(arguments[0], &nodes) ||
      !absl::SimpleAtoi(arguments[1], &weight) ||
      !absl::SimpleAtoi(arguments[2], &points_per_weight)) {
    std::fputs("ring peer: expected NODES WEIGHT POINTS_PER_WEIGHT KEYS HASHES\n", stderr);
    return 2;
  }
  RingPeer peer(nodes, weight, points_per_weight, arguments[3], arguments[4]);
  // What reading the files has left free would be taken for the ring, and not be seen in its
  // memory.
  ::malloc_trim(0);
  std::puts("ready");
  std::fflush(stdout);
  for (std::string line; std::getline(std::cin, line);) {
    const std::size_t space = line.find(' ');
    const absl::StatusOr<Seconds> time =
        peer.Run(line.substr(0, space), space == std::string::npos ? "" : line.substr(space + 1));
    if (!time.ok()) {
      std::fprintf(stderr, "ring peer: %s\n", std::string(time.status().message()).c_str());
      return 1;
    }
    std::printf("%.9f\n", time->count());
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace ringshift::bench
