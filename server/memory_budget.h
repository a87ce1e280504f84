// Whether rings may be built, decided before anything is allocated.
//
//   MemoryBudget budget(std::uint64_t{8} << 30);
//   absl::Status fits = budget.CheckChange(spec, served);
//   // RESOURCE_EXHAUSTED: data center ams: to build its rings takes 9830400000 bytes (9.2 GiB) at
//   // the peak, and --build-memory is 8589934592 bytes (8.0 GiB)
//
// Data centers are built one after the other, each on all cores, so what counts is one at a time:
// its new rings and the scratch memory of their build, beside all that is in memory by then.
//
// Thread safety: that of the FileReader, which is a function without state by default.
#ifndef RINGSHIFT_SERVER_MEMORY_BUDGET_H_
#define RINGSHIFT_SERVER_MEMORY_BUDGET_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "routing/data_center.h"
#include "routing/topology.h"
#include "server/system_memory.h"

namespace ringshift {

// Every check: RESOURCE_EXHAUSTED if it does not fit, with the bytes, the limit, where the limit
// is, and the data center. Other errors are those of DataCenter::MeasureBuild.
class MemoryBudget {
 public:
  // `build_memory`, in bytes: the most that a data center of the topology file may take while it
  // is built; none: what the system lets the process have.
  explicit MemoryBudget(std::optional<std::uint64_t> build_memory = std::nullopt,
                        FileReader read = ReadWholeFile);

  // Of a data center of the topology file; `served` is what it serves as now, or null, and a ring
  // that is `retired` is not built.
  absl::Status CheckChange(const DataCenterSpec& spec, const DataCenter* served,
                           RetiredRing retired = RetiredRing::kNone) const;

  // Of one that was served before this start: whether the system lets it be so again.
  absl::Status CheckRestart(const DataCenterSpec& spec,
                            RetiredRing retired = RetiredRing::kNone) const;

  // Of all data centers of the topology file, at a start with nothing else: each as a change, and
  // together.
  absl::Status CheckFirstStart(const std::vector<DataCenterSpec>& specs) const;

 private:
  std::optional<std::uint64_t> build_memory_;
  FileReader read_;
};

}  // namespace ringshift

#endif  // RINGSHIFT_SERVER_MEMORY_BUDGET_H_
