#include "ring/internal/point_chains.h"

#include "ring/point_hashes.h"

namespace ringshift::internal {
namespace {

constexpr std::uint32_t kPolynomial = 0xEDB88320;  // the highest bit is the coefficient of x^0

// a * b modulo the polynomial.
constexpr std::uint32_t Multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    if ((a >> 31) != 0) product ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? kPolynomial : 0);
  }
  return product;
}

// x^(32 * 2^k), which 2^k steps multiply by.
constexpr std::array<std::uint32_t, 32> MakePowers() {
  std::array<std::uint32_t, 32> powers{};
  powers[0] = kPolynomial;  // x^32
  for (std::size_t k = 1; k < powers.size(); ++k) {
    powers[k] = Multiply(powers[k - 1], powers[k - 1]);
  }
  return powers;
}

constexpr std::array<std::uint32_t, 32> kPowers = MakePowers();

// x^32 h modulo the polynomial.
std::uint32_t Step(std::uint32_t h) {
  // The constant of a register that is 0 is what such a step of 0 gives.
  return Crc32OfStateThenWord(0, h) ^ Crc32OfStateThenWord(0, 0);
}

StepTables MakeStepTables() {
  StepTables tables;
  for (std::uint32_t i = 0; i < 4; ++i) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t h = byte << (8 * i);
      for (int k = 0; k < 4; ++k) tables[i][byte][k] = h = Step(h);
    }
  }
  return tables;
}

}  // namespace

const StepTables& GetStepTables() {
  static const StepTables tables = MakeStepTables();
  return tables;
}

std::uint32_t HashAfter(std::uint32_t state, std::uint64_t steps) {
  std::uint32_t hash = 0;
  // 2^k steps multiply by kPowers[k] and then add this.
  std::uint32_t constant = Crc32OfStateThenWord(state, 0);
  for (std::size_t k = 0; steps != 0; ++k, steps >>= 1) {
    if ((steps & 1) != 0) hash = Multiply(kPowers[k], hash) ^ constant;
    constant ^= Multiply(kPowers[k], constant);
  }
  return hash;
}

PointChains::PointChains(const NodeSet& nodes, std::uint32_t points_per_weight,
                         const NodeMask* members, std::uint32_t hash_mask)
    : nodes_(nodes), hash_mask_(hash_mask), begins_(nodes.size() + 1) {
  std::uint64_t count = 0;
  for (NodeIndex node = 0; node < nodes.size(); ++node) {
    if (members == nullptr || members->Contains(node)) {
      count += PointCount(nodes[node].identity, nodes[node].weight, points_per_weight);
    }
    begins_[node + 1] = static_cast<std::uint32_t>(count);
  }
}

}  // namespace ringshift::internal
