// Runs the real binaries: starts a program, collects what it prints, signals it, waits for its end.
//
//   TempDir dir;
//   Process router({Binary("ringshiftd"), "--topology=" + dir.Write("t.yaml", yaml), ...});
//   std::optional<std::string> line = router.WaitForStderr("msg=\"listening\"");
//   router.Signal(SIGTERM);
//   EXPECT_THAT(router.WaitForExit(), Optional(0));
//
// Thread safety: thread-compatible. Start processes from a thread that lives as long as they shall:
// the kernel kills them when it ends, so that nothing outlives a test that crashed.
#ifndef RINGSHIFT_TESTS_INTEGRATION_PROCESS_H_
#define RINGSHIFT_TESTS_INTEGRATION_PROCESS_H_

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ringshift::testing {

// How long to wait for what should take milliseconds: far above what a loaded machine needs.
inline constexpr std::chrono::seconds kPatience{60};

// KiB of a process, by the name that /proc/PID/status has: VmRSS, VmHWM. Ends the test if there
// is none.
std::int64_t MemoryOf(pid_t pid, const std::string& name);

// The path of a binary of this build, for example "ringshiftd".
std::string Binary(std::string_view name);

// An empty directory, removed with all that is in it at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::string& path() const { return path_; }
  std::string File(std::string_view name) const { return path_ + "/" + std::string(name); }
  // Writes a file and returns its path.
  std::string Write(std::string_view name, std::string_view contents) const;

 private:
  std::string path_;
};

class Process {
 public:
  // Starts argv[0] (looked up in PATH if it has no slash) with `input` on its stdin, then end of
  // file. A program that cannot be started ends with exit code 127.
  explicit Process(const std::vector<std::string>& argv, std::string input = "");
  // Kills it, and what it started, if it still runs.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void Signal(int signal) const;

  // The first whole line of stderr that contains `text`; none if it ends or time is up before there
  // is one.
  std::optional<std::string> WaitForStderr(std::string_view text,
                                           std::chrono::milliseconds timeout = kPatience) {
    return WaitForLine(stderr_, text, timeout);
  }
  // The same of stdout.
  std::optional<std::string> WaitForStdout(std::string_view text,
                                           std::chrono::milliseconds timeout = kPatience) {
    return WaitForLine(stdout_, text, timeout);
  }

  // Its exit code, or 128 + the signal that killed it; none if it still runs when time is up. After
  // it, Stdout() and Stderr() are complete.
  std::optional<int> WaitForExit(std::chrono::milliseconds timeout = kPatience);

  // What it has printed so far.
  std::string Stdout() const;
  std::string Stderr() const;

 private:
  void Pump();
  // The first whole line of `output`, which is guarded by mutex_, that contains `text`.
  std::optional<std::string> WaitForLine(const std::string& output, std::string_view text,
                                         std::chrono::milliseconds timeout);

  pid_t pid_ = -1;
  int pid_fd_ = -1;
  int stdin_fd_ = -1;
  int stdout_fd_ = -1;
  int stderr_fd_ = -1;
  std::optional<int> exit_code_;
  std::string input_;
  std::thread pump_;  // moves input_ to stdin, stdout and stderr to the strings below

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string stdout_;    // guarded by mutex_
  std::string stderr_;    // guarded by mutex_
  bool drained_ = false;  // guarded by mutex_: both outputs are at their end
};

// Starts a program, waits for its end and returns what came of it.
struct Completed {
  int exit_code = -1;  // -1: killed, because it still ran after the timeout
  std::string out;
  std::string err;
};
Completed Run(const std::vector<std::string>& argv, std::string input = "",
              std::chrono::milliseconds timeout = kPatience);

// The value of `key` in a logfmt line (`key=value` or `key="value"`, unescaped); "" if it is not
// there.
std::string LogValue(std::string_view line, std::string_view key);

}  // namespace ringshift::testing

#endif  // RINGSHIFT_TESTS_INTEGRATION_PROCESS_H_
