#include "server/system_memory.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/server/fake_files.h"

namespace ringshift {
namespace {

using ::ringshift::testing::FakeFiles;

constexpr std::uint64_t kMiB = 1 << 20;

// What of `bytes` is left when a 64th stays free.
constexpr std::uint64_t LessA64th(std::uint64_t bytes) { return bytes - bytes / 64; }

std::string Bytes(std::uint64_t mebibytes) { return std::to_string(mebibytes * kMiB) + "\n"; }

// As systemd runs a service, with 8 GiB of memory available.
FakeFiles Version2() {
  FakeFiles files;
  files.SetMachine(16 << 20, 8 << 20)
      .Set("/proc/self/cgroup", "0::/system.slice/ringshiftd.service\n")
      .Set(
          "/proc/self/mountinfo",
          "23 28 0:21 / /proc rw,nosuid shared:12 - proc proc rw\n"
          "27 23 0:24 / /sys/fs/cgroup rw,nosuid,nodev shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  return files;
}
const std::string kService = "/sys/fs/cgroup/system.slice/ringshiftd.service";

// A machine whose memory controller is of version 1, beside an empty version 2.
FakeFiles Version1() {
  FakeFiles files;
  files.SetMachine(16 << 20, 8 << 20)
      .Set("/proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/pod/router\n3:cpuset:/\n0::/\n")
      .Set("/proc/self/mountinfo",
           "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
           "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,cpu,memory\n"
           "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  return files;
}

void ExpectRoom(const FakeFiles& files, std::uint64_t bytes, std::uint64_t limit,
                const std::string& place) {
  const std::optional<MemoryRoom> room = FindMemoryRoom(files.Reader());
  ASSERT_TRUE(room.has_value());
  EXPECT_EQ(room->bytes, bytes);
  EXPECT_EQ(room->limit, limit);
  EXPECT_EQ(room->place, place);
}
void ExpectMachineCounts(const FakeFiles& files) {
  ExpectRoom(files, 8192 * kMiB - 16384 * kMiB / 64, 16384 * kMiB, "/proc/meminfo");
}

TEST(SystemMemoryTest, WithoutACgroupTheMachineCounts) {
  FakeFiles files;
  files.SetMachine(16 << 20, 8 << 20);
  ExpectMachineCounts(files);
}

TEST(SystemMemoryTest, ALimitOfVersion2CountsWithoutPageCacheThatCanBeDropped) {
  FakeFiles files = Version2();
  files.Set(kService + "/memory.max", Bytes(1024))
      .Set(kService + "/memory.current", Bytes(700))
      .Set(kService + "/memory.stat", "anon " + Bytes(400) + "file " + Bytes(300) +
                                          "inactive_file " + Bytes(200) + "active_file " +
                                          Bytes(50) + "slab_reclaimable " + Bytes(10) +
                                          "slab_unreclaimable " + Bytes(20));
  ExpectRoom(files, LessA64th(1024 * kMiB) - 440 * kMiB, 1024 * kMiB, kService + "/memory.max");
}

TEST(SystemMemoryTest, ALimitOfVersion1CountsWithoutPageCacheThatCanBeDropped) {
  FakeFiles files = Version1();
  const std::string folder = "/sys/fs/cgroup/memory/pod/router";
  files.Set(folder + "/memory.limit_in_bytes", Bytes(512))
      .Set(folder + "/memory.usage_in_bytes", Bytes(300))
      .Set(folder + "/memory.stat", "inactive_file " + Bytes(1) + "active_file " + Bytes(1) +
                                        "total_inactive_file " + Bytes(100) + "total_active_file " +
                                        Bytes(20));
  ExpectRoom(files, LessA64th(512 * kMiB) - 180 * kMiB, 512 * kMiB,
             folder + "/memory.limit_in_bytes");
}

TEST(SystemMemoryTest, MemoryHighCountsWhereItIsLower) {
  FakeFiles files = Version2();
  files.Set(kService + "/memory.max", Bytes(1024)).Set(kService + "/memory.high", Bytes(640));
  ExpectRoom(files, LessA64th(640 * kMiB), 640 * kMiB, kService + "/memory.high");
}

TEST(SystemMemoryTest, ALimitFurtherUpCountsWhereItLeavesLess) {
  FakeFiles files = Version2();
  files.Set(kService + "/memory.max", Bytes(1024))
      .Set(kService + "/memory.current", Bytes(100))
      .Set("/sys/fs/cgroup/system.slice/memory.max", Bytes(2048))
      .Set("/sys/fs/cgroup/system.slice/memory.current", Bytes(1600));
  ExpectRoom(files, LessA64th(2048 * kMiB) - 1600 * kMiB, 2048 * kMiB,
             "/sys/fs/cgroup/system.slice/memory.max");

  files = Version1();
  files.Set("/sys/fs/cgroup/memory/memory.limit_in_bytes", Bytes(64));
  ExpectRoom(files, LessA64th(64 * kMiB), 64 * kMiB, "/sys/fs/cgroup/memory/memory.limit_in_bytes");
}

TEST(SystemMemoryTest, NothingOutsideTheMountIsRead) {
  FakeFiles files = Version2();
  files.Set("/sys/fs/memory.max", Bytes(1)).Set("/memory.max", Bytes(1));
  ExpectMachineCounts(files);
}

TEST(SystemMemoryTest, NoLimitDoesNotCount) {
  FakeFiles files = Version2();
  files.Set(kService + "/memory.max", "max\n").Set(kService + "/memory.high", "max\n");
  ExpectMachineCounts(files);
  files = Version1();
  files.Set("/sys/fs/cgroup/memory/pod/router/memory.limit_in_bytes", "9223372036854771712\n");
  ExpectMachineCounts(files);
}

TEST(SystemMemoryTest, ALimitThatIsUsedUpLeavesNothing) {
  FakeFiles files = Version2();
  files.Set(kService + "/memory.max", Bytes(100)).Set(kService + "/memory.current", Bytes(101));
  ExpectRoom(files, 0, 100 * kMiB, kService + "/memory.max");
  files.Set(kService + "/memory.max", "0\n").Set(kService + "/memory.current", "0\n");
  ExpectRoom(files, 0, 0, kService + "/memory.max");
}

TEST(SystemMemoryTest, TheOwnCgroupOfAContainerIsTheTopOfItsTree) {
  FakeFiles files = Version2();
  files.Set("/proc/self/cgroup", "0::/\n").Set("/sys/fs/cgroup/memory.max", Bytes(256));
  ExpectRoom(files, LessA64th(256 * kMiB), 256 * kMiB, "/sys/fs/cgroup/memory.max");
}

TEST(SystemMemoryTest, APartOfTheTreeThatIsMountedIsSeenFromItsRoot) {
  FakeFiles files = Version2();
  files.Set("/proc/self/cgroup", "0::/docker/abc/inner\n")
      .Set("/proc/self/mountinfo",
           "27 23 0:24 /docker/abc /my\\040cgroups ro shared:4 master:5 - cgroup2 cgroup ro\n")
      .Set("/my cgroups/inner/memory.max", Bytes(200))
      .Set("/my cgroups/memory.max", Bytes(100));
  ExpectRoom(files, LessA64th(100 * kMiB), 100 * kMiB, "/my cgroups/memory.max");
  files.Set("/my cgroups/memory.max", "max");
  ExpectRoom(files, LessA64th(200 * kMiB), 200 * kMiB, "/my cgroups/inner/memory.max");
}

TEST(SystemMemoryTest, APathThatCannotBeSeenLeavesTheTopOfWhatCan) {
  FakeFiles files = Version2();
  files.Set("/sys/fs/cgroup/memory.max", Bytes(100));
  for (const char* path : {"0::/../other\n", "0::/..\n"}) {
    files.Set("/proc/self/cgroup", path);
    ExpectRoom(files, LessA64th(100 * kMiB), 100 * kMiB, "/sys/fs/cgroup/memory.max");
  }
  // A name that only begins as the root of the mount does.
  files.Set("/proc/self/cgroup", "0::/docker/abcd\n")
      .Set("/proc/self/mountinfo", "27 23 0:24 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup ro\n")
      .Set("/sys/fs/cgroupd/memory.max", Bytes(1));
  ExpectRoom(files, LessA64th(100 * kMiB), 100 * kMiB, "/sys/fs/cgroup/memory.max");
}

TEST(SystemMemoryTest, ALimitWithoutItsUseStillCounts) {
  FakeFiles files = Version2();
  files.Set(kService + "/memory.max", Bytes(300));
  ExpectRoom(files, LessA64th(300 * kMiB), 300 * kMiB, kService + "/memory.max");
  // More cache than use: some was dropped between the two reads.
  files.Set(kService + "/memory.current", Bytes(10))
      .Set(kService + "/memory.stat", "inactive_file " + Bytes(11));
  ExpectRoom(files, LessA64th(300 * kMiB), 300 * kMiB, kService + "/memory.max");
}

TEST(SystemMemoryTest, WhatIsMissingOrGarbageDoesNotLimit) {
  EXPECT_FALSE(FindMemoryRoom(FakeFiles().Reader()).has_value());
  for (const char* garbage :
       {"", "\n", "x", "-5", "12x\n", "1.5", "99999999999999999999999\n", ":", "::::", "0::",
        "0::relative", "4:memory", " - ", "1 2 3 4 5 6 - cgroup2", "27 23 0:24 / - cgroup2 a b",
        "MemTotal:\nMemAvailable: x kB\n", "MemTotal: 99999999999999999999 kB\n",
        "MemTotal: 18446744073709551615 kB\nMemAvailable: 1 kB\n"}) {
    FakeFiles files;
    for (const char* path : {"/proc/meminfo", "/proc/self/cgroup", "/proc/self/mountinfo"}) {
      files.Set(path, garbage);
    }
    EXPECT_FALSE(FindMemoryRoom(files.Reader()).has_value()) << garbage;

    files = Version2();
    files.Set(kService + "/memory.max", garbage);
    ExpectMachineCounts(files);
    files = Version2();
    files.Set("/proc/self/cgroup", garbage);
    ExpectMachineCounts(files);
    files = Version2();
    files.Set("/proc/self/mountinfo", garbage);
    ExpectMachineCounts(files);
    files = Version2();
    files.Set(kService + "/memory.max", Bytes(300))
        .Set(kService + "/memory.current", garbage)
        .Set(kService + "/memory.stat", garbage);
    ExpectRoom(files, LessA64th(300 * kMiB), 300 * kMiB, kService + "/memory.max");
  }
}

#ifdef __linux__
TEST(SystemMemoryTest, ThisMachineTells) {
  const std::optional<MemoryRoom> room = FindMemoryRoom();
  ASSERT_TRUE(room.has_value());
  EXPECT_GT(room->bytes, 0u);
  EXPECT_LT(room->bytes, room->limit);
  EXPECT_TRUE(ReadWholeFile(room->place).has_value()) << room->place;
}
#endif

}  // namespace
}  // namespace ringshift
