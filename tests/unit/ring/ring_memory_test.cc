// What Ring::Build allocates, against what Ring::Measure says. A program of its own: it replaces
// operator new and delete, to count.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "ring/ring.h"
#include "tests/testing/status_matchers.h"
#include "tests/unit/ring/ring_test_util.h"

namespace {

std::atomic<std::uint64_t> live_bytes{0};
std::atomic<std::uint64_t> peak_bytes{0};

void* Allocate(std::size_t size) {
  void* const memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  const std::uint64_t live = live_bytes += ::malloc_usable_size(memory);
  std::uint64_t peak = peak_bytes;
  while (live > peak && !peak_bytes.compare_exchange_weak(peak, live)) {
  }
  return memory;
}

void Free(void* memory) {
  live_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Allocate(size); }
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }

namespace ringshift {
namespace {

using ::ringshift::testing::Nodes;
using ::ringshift::testing::Parameters;
using ::ringshift::testing::SequentialNodes;
using ::ringshift::testing::TestNode;

// The most that was allocated at a time while the ring was built, beside what was before.
std::uint64_t PeakOfBuilding(const std::vector<TestNode>& fleet, const RingParameters& parameters) {
  const auto nodes = Nodes(fleet);
  const std::uint64_t before = live_bytes;
  peak_bytes = before;
  const auto ring = Ring::Build(nodes, parameters);
  EXPECT_TRUE(ring.ok()) << ring.status();
  return peak_bytes - before;
}

TEST(RingMemoryTest, ABuildTakesNoMoreThanTheRingAndTheScratchThatMeasureSays) {
  std::vector<TestNode> many;
  for (int i = 0; i < 20'000; ++i) {
    many.push_back({"10.1." + std::to_string(i >> 8) + "." + std::to_string(i & 255) + ":443"});
  }
  const struct {
    std::vector<TestNode> fleet;
    RingParameters parameters;
  } rings[] = {
      {{{"10.0.0.1:443"}}, Parameters(RingVersion::kV1, 1)},
      {SequentialNodes("10.0.0.", 10, 10), Parameters(RingVersion::kV2, 16, RingLayout::kPacked)},
      {SequentialNodes("10.0.0.", 200, 10), Parameters(RingVersion::kV1, 160)},
      {SequentialNodes("10.0.0.", 250, 625), Parameters(RingVersion::kV2, 16, RingLayout::kPacked)},
      {SequentialNodes("10.0.0.", 100, 625), Parameters(RingVersion::kV1, 160)},
      // One chain, and chains of a point: the ones that spread least evenly.
      {{{"10.0.0.1:443", 20'000}}, Parameters(RingVersion::kV1, 160)},
      {many, Parameters(RingVersion::kV1, 1)},
      {many, Parameters(RingVersion::kV1, 100)},
      {{{"10.0.0.1:443"}}, Parameters(RingVersion::kV1, 1, RingLayout::kDense)},
      {SequentialNodes("10.0.0.", 200, 10), Parameters(RingVersion::kV1, 160, RingLayout::kDense)},
      {SequentialNodes("10.0.0.", 250, 625), Parameters(RingVersion::kV2, 16, RingLayout::kDense)},
      {{{"10.0.0.1:443", 20'000}}, Parameters(RingVersion::kV1, 160, RingLayout::kDense)},
      {many, Parameters(RingVersion::kV1, 1, RingLayout::kDense)},
      {many, Parameters(RingVersion::kV1, 100, RingLayout::kDense)},
  };
  for (const auto& [fleet, parameters] : rings) {
    ASSERT_OK_AND_ASSIGN(const RingSize size, Ring::Measure(*Nodes(fleet), parameters));
    const std::uint64_t peak = PeakOfBuilding(fleet, parameters);
    EXPECT_LE(peak, size.bytes + size.scratch_bytes) << size.points << " points";
    EXPECT_GE(peak, size.bytes) << size.points << " points";
  }
}

TEST(RingMemoryTest, TheScratchOfALargeRingIsAFewPercentOfIt) {
  ASSERT_OK_AND_ASSIGN(const RingSize size,
                       Ring::Measure(*Nodes(SequentialNodes("10.0.0.", 200, 6250)),
                                     Parameters(RingVersion::kV1, 160)));
  EXPECT_EQ(size.points, 200'000'000u);
  EXPECT_GT(size.scratch_bytes, 0u);
  const double cores = std::max(1u, std::thread::hardware_concurrency());
  EXPECT_LT(static_cast<double>(size.scratch_bytes),
            0.001 * (cores + 1) * static_cast<double>(size.bytes));
}

}  // namespace
}  // namespace ringshift
