#include "server/memory_budget.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "routing/byte_size.h"

namespace ringshift {
namespace {

// Whether `bytes` fit within `build_memory`, if there is one, and within what the system leaves.
absl::Status Check(const std::string& what, std::uint64_t bytes,
                   const std::optional<std::uint64_t>& build_memory, const FileReader& read) {
  if (bytes == 0) return absl::OkStatus();
  const std::optional<MemoryRoom> room = FindMemoryRoom(read);
  std::string limit;
  if (room && (!build_memory || room->bytes < *build_memory)) {
    if (bytes <= room->bytes) return absl::OkStatus();
    limit =
        room->place + " leaves " + DescribeBytes(room->bytes) + " of " + DescribeBytes(room->limit);
  } else {
    if (!build_memory || bytes <= *build_memory) return absl::OkStatus();
    limit = "--build-memory is " + DescribeBytes(*build_memory);
  }
  return absl::ResourceExhaustedError(
      absl::string_view(what + " takes " + DescribeBytes(bytes) + " at the peak, and " + limit));
}

std::string Building(const DataCenterSpec& spec) {
  return "data center " + spec.name + ": to build its rings";
}

}  // namespace

MemoryBudget::MemoryBudget(std::optional<std::uint64_t> build_memory, FileReader read)
    : build_memory_(build_memory), read_(std::move(read)) {}

absl::Status MemoryBudget::CheckChange(const DataCenterSpec& spec, const DataCenter* served,
                                       RetiredRing retired) const {
  const absl::StatusOr<BuildMemory> memory = DataCenter::MeasureBuild(spec, served, retired);
  if (!memory.ok()) return memory.status();
  return Check(Building(spec), memory->peak_bytes, build_memory_, read_);
}

absl::Status MemoryBudget::CheckRestart(const DataCenterSpec& spec, RetiredRing retired) const {
  const absl::StatusOr<BuildMemory> memory = DataCenter::MeasureBuild(spec, nullptr, retired);
  if (!memory.ok()) return memory.status();
  return Check(Building(spec), memory->peak_bytes, std::nullopt, read_);
}

absl::Status MemoryBudget::CheckFirstStart(const std::vector<DataCenterSpec>& specs) const {
  std::uint64_t before = 0;
  for (const DataCenterSpec& spec : specs) {
    const absl::StatusOr<BuildMemory> memory = DataCenter::MeasureBuild(spec);
    if (!memory.ok()) return memory.status();
    absl::Status fits = Check(Building(spec), memory->peak_bytes, build_memory_, read_);
    if (fits.ok() && before > 0) {
      fits = Check(Building(spec) + " beside those above it in the file",
                   before + memory->peak_bytes, std::nullopt, read_);
    }
    if (!fits.ok()) return fits;
    before += memory->ring_bytes;
  }
  return absl::OkStatus();
}

}  // namespace ringshift
