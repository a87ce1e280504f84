#include "server/process_metrics.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>

namespace ringshift {
namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::optional<double> CpuSeconds() {
  rusage usage{};
  if (::getrusage(RUSAGE_SELF, &usage) != 0) return std::nullopt;
  return Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
}

struct Memory {
  double virtual_bytes;
  double resident_bytes;
};

std::optional<Memory> ReadMemory() {
  std::ifstream statm("/proc/self/statm");
  double virtual_pages = 0;
  double resident_pages = 0;
  if (!(statm >> virtual_pages >> resident_pages)) return std::nullopt;
  const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
  return Memory{virtual_pages * page, resident_pages * page};
}

std::optional<double> OpenFds() {
  std::error_code error;
  std::filesystem::directory_iterator fds("/proc/self/fd", error);
  double count = 0;
  for (; !error && fds != std::filesystem::directory_iterator(); fds.increment(error)) ++count;
  if (error) return std::nullopt;
  return count - 1;  // one of them reads the directory
}

std::optional<double> MaxFds() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  if (limit.rlim_cur == RLIM_INFINITY) return std::numeric_limits<double>::infinity();
  return static_cast<double>(limit.rlim_cur);
}

// Unix time in seconds.
std::optional<double> ReadStartTime() {
  std::ifstream file("/proc/self/stat");
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  // The second field, the program's name in parentheses, may hold anything; the start is field 22.
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  double ticks_since_boot = 0;
  if (!(fields >> ticks_since_boot)) return std::nullopt;

  std::ifstream system("/proc/stat");
  for (std::string word; system >> word;) {
    double boot_time = 0;
    if (word == "btime" && system >> boot_time) {
      return boot_time + ticks_since_boot / static_cast<double>(::sysconf(_SC_CLK_TCK));
    }
  }
  return std::nullopt;
}

void Add(MetricFamilies& families, prometheus::MetricType type, const char* name, const char* help,
         std::optional<double> value) {
  if (!value) return;
  prometheus::MetricFamily& family = families.emplace_back(MakeFamily(type, name, help));
  if (type == prometheus::MetricType::Counter) {
    AddCounter(family, {}, *value);
  } else {
    AddGauge(family, {}, *value);
  }
}

}  // namespace

void CollectProcessMetrics(MetricFamilies& families) {
  using prometheus::MetricType;
  static const std::optional<double> start_time = ReadStartTime();
  const std::optional<Memory> memory = ReadMemory();
  Add(families, MetricType::Counter, "process_cpu_seconds_total",
      "Total user and system CPU time spent in seconds.", CpuSeconds());
  Add(families, MetricType::Gauge, "process_open_fds", "Number of open file descriptors.",
      OpenFds());
  Add(families, MetricType::Gauge, "process_max_fds", "Maximum number of open file descriptors.",
      MaxFds());
  if (memory) {
    Add(families, MetricType::Gauge, "process_resident_memory_bytes",
        "Resident memory size in bytes.", memory->resident_bytes);
    Add(families, MetricType::Gauge, "process_virtual_memory_bytes",
        "Virtual memory size in bytes.", memory->virtual_bytes);
  }
  Add(families, MetricType::Gauge, "process_start_time_seconds",
      "Start time of the process since unix epoch in seconds.", start_time);
}

}  // namespace ringshift
