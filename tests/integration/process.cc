#include "tests/integration/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

namespace ringshift::testing {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void Die(const char* what) {
  std::perror(what);
  std::abort();
}

struct Pipe {
  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) Die("pipe2");
  }
  std::array<int, 2> ends{};  // to read, to write
};

void CloseFd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

int MillisecondsUntil(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

}  // namespace

std::string Binary(std::string_view name) { return RINGSHIFT_BIN_DIR "/" + std::string(name); }

std::int64_t MemoryOf(pid_t pid, const std::string& name) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::stoll(line.substr(name.size() + 1));
  }
  Die(("no " + name + " of process " + std::to_string(pid)).c_str());
}

TempDir::TempDir() {
  std::string pattern = (std::filesystem::temp_directory_path() / "ringshift-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) Die("mkdtemp");
  path_ = pattern;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TempDir::Write(std::string_view name, std::string_view contents) const {
  std::string path = File(name);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  if (!file.flush()) Die(path.c_str());
  return path;
}

Process::Process(const std::vector<std::string>& argv, std::string input)
    : input_(std::move(input)) {
  // A program that closes its stdin early is no reason for the test to die.
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in;
  Pipe out;
  Pipe err;
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  const pid_t parent = ::getpid();

  pid_ = ::fork();
  if (pid_ < 0) Die("fork");
  if (pid_ == 0) {
    // Only calls that are safe after a fork of a process with threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::setpgid(0, 0);
    ::signal(SIGPIPE, SIG_DFL);
    ::dup2(in.ends[0], STDIN_FILENO);
    ::dup2(out.ends[1], STDOUT_FILENO);
    ::dup2(err.ends[1], STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::setpgid(pid_, pid_);
  pid_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pid_fd_ < 0) Die("pidfd_open");
  CloseFd(in.ends[0]);
  CloseFd(out.ends[1]);
  CloseFd(err.ends[1]);
  stdin_fd_ = in.ends[1];
  stdout_fd_ = out.ends[0];
  stderr_fd_ = err.ends[0];
  ::fcntl(stdin_fd_, F_SETFL, O_NONBLOCK);
  pump_ = std::thread([this] { Pump(); });
}

Process::~Process() {
  ::kill(-pid_, SIGKILL);
  if (!exit_code_) ::waitpid(pid_, nullptr, 0);
  pump_.join();
  CloseFd(pid_fd_);
}

void Process::Signal(int signal) const {
  // By the descriptor, which never names another process that got the same number.
  ::syscall(SYS_pidfd_send_signal, pid_fd_, signal, nullptr, 0);
}

void Process::Pump() {
  std::size_t written = 0;
  std::vector<char> buffer(65536);
  if (input_.empty()) CloseFd(stdin_fd_);
  while (stdout_fd_ >= 0 || stderr_fd_ >= 0) {
    std::array<pollfd, 3> fds{
        {{stdin_fd_, POLLOUT, 0}, {stdout_fd_, POLLIN, 0}, {stderr_fd_, POLLIN, 0}}};
    if (::poll(fds.data(), fds.size(), -1) < 0) continue;  // EINTR
    if (fds[0].revents != 0) {
      const ssize_t n = ::write(stdin_fd_, input_.data() + written, input_.size() - written);
      if (n > 0) written += static_cast<std::size_t>(n);
      if (written == input_.size() || (n < 0 && errno != EAGAIN)) CloseFd(stdin_fd_);
    }
    const auto receive = [this, &buffer](short revents, int& fd, std::string& text) {
      if (revents == 0) return;
      const ssize_t n = ::read(fd, buffer.data(), buffer.size());
      if (n > 0) {
        const std::lock_guard lock(mutex_);
        text.append(buffer.data(), static_cast<std::size_t>(n));
      } else {
        CloseFd(fd);
      }
      changed_.notify_all();
    };
    receive(fds[1].revents, stdout_fd_, stdout_);
    receive(fds[2].revents, stderr_fd_, stderr_);
  }
  CloseFd(stdin_fd_);
  const std::lock_guard lock(mutex_);
  drained_ = true;
  changed_.notify_all();
}

std::optional<std::string> Process::WaitForLine(const std::string& output, std::string_view text,
                                                std::chrono::milliseconds timeout) {
  std::optional<std::string> found;
  const auto look = [&] {
    std::size_t begin = 0;
    for (std::size_t end; (end = output.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const std::string_view line = std::string_view(output).substr(begin, end - begin);
      if (line.find(text) != std::string_view::npos) {
        found = line;
        return true;
      }
    }
    return drained_;
  };
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, timeout, look);
  return found;
}

std::optional<int> Process::WaitForExit(std::chrono::milliseconds timeout) {
  if (exit_code_) return exit_code_;
  const Clock::time_point deadline = Clock::now() + timeout;
  pollfd exited{pid_fd_, POLLIN, 0};
  while (::poll(&exited, 1, MillisecondsUntil(deadline)) < 0) {
  }
  if (exited.revents == 0) return std::nullopt;
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) Die("waitpid");
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [this] { return drained_; });
  return exit_code_;
}

std::string Process::Stdout() const {
  const std::lock_guard lock(mutex_);
  return stdout_;
}

std::string Process::Stderr() const {
  const std::lock_guard lock(mutex_);
  return stderr_;
}

Completed Run(const std::vector<std::string>& argv, std::string input,
              std::chrono::milliseconds timeout) {
  Process process(argv, std::move(input));
  const std::optional<int> exit_code = process.WaitForExit(timeout);
  return {exit_code.value_or(-1), process.Stdout(), process.Stderr()};
}

std::string LogValue(std::string_view line, std::string_view key) {
  const std::string start = std::string(key) + "=";
  std::size_t at = 0;
  while ((at = line.find(start, at)) != std::string_view::npos && at != 0 && line[at - 1] != ' ')
    ++at;
  if (at == std::string_view::npos) return "";
  line.remove_prefix(at + start.size());
  if (!line.starts_with('"')) return std::string(line.substr(0, line.find(' ')));
  std::string value;
  for (std::size_t i = 1; i < line.size() && line[i] != '"'; ++i) {
    if (line[i] == '\\' && i + 1 < line.size()) ++i;
    value += line[i];
  }
  return value;
}

}  // namespace ringshift::testing
