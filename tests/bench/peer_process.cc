#include "tests/bench/peer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"

namespace ringshift::bench {

absl::StatusOr<PeerProcess> PeerProcess::Start(const std::vector<std::string>& argv) {
  // A write to a process that has ended is an error, and not our end.
  ::signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> commands{};
  std::array<int, 2> answers{};
  if (::pipe2(commands.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0) {
    return absl::ResourceExhaustedError("no pipe to " + argv[0]);
  }
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.data()));
  arguments.push_back(nullptr);
  PeerProcess peer(argv[0]);
  peer.pid_ = ::fork();
  if (peer.pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(commands[0], STDIN_FILENO);
    ::dup2(answers[1], STDOUT_FILENO);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(commands[0]);
  ::close(answers[1]);
  peer.commands_ = ::fdopen(commands[1], "w");
  peer.answers_ = ::fdopen(answers[0], "r");
  if (peer.pid_ < 0) return absl::ResourceExhaustedError("cannot start " + argv[0]);
  const absl::StatusOr<std::string> line = peer.ReadLine();
  if (!line.ok()) return line.status();
  if (*line != "ready") return absl::UnavailableError(argv[0] + " said \"" + *line + "\"");
  return peer;
}

PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : name_(std::move(other.name_)),
      pid_(std::exchange(other.pid_, -1)),
      commands_(std::exchange(other.commands_, nullptr)),
      answers_(std::exchange(other.answers_, nullptr)) {}

PeerProcess::~PeerProcess() {
  if (commands_ != nullptr) std::fclose(commands_);
  if (answers_ != nullptr) std::fclose(answers_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

absl::StatusOr<double> PeerProcess::Do(const std::string& command) {
  std::fprintf(commands_, "%s\n", command.c_str());
  std::fflush(commands_);
  const absl::StatusOr<std::string> line = ReadLine();
  if (!line.ok()) return line.status();
  double seconds = 0;
  if (absl::SimpleAtod(*line, &seconds)) return seconds;
  return absl::UnavailableError(name_ + " answered \"" + *line + "\" to " + command);
}

absl::StatusOr<std::string> PeerProcess::ReadLine() {
  std::array<char, 256> line{};
  if (std::fgets(line.data(), line.size(), answers_) == nullptr) {
    return absl::UnavailableError(name_ + " ended before it had answered");
  }
  std::string text = line.data();
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

absl::StatusOr<std::uint64_t> PeerProcess::StatusBytes(const std::string& field) const {
  const std::string path = "/proc/" + std::to_string(pid_) + "/status";
  std::ifstream file(path);
  std::string word;
  std::uint64_t kibibytes = 0;
  while (file >> word) {
    if (word == field && file >> kibibytes) return kibibytes * 1024;
  }
  return absl::UnavailableError("no " + field + " in " + path);
}

}  // namespace ringshift::bench
