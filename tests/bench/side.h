// A side of a comparison of servers: one of them in a process of its own, and the load that it is
// under.
//
// Thread safety: used by one thread.
#ifndef RINGSHIFT_TESTS_BENCH_SIDE_H_
#define RINGSHIFT_TESTS_BENCH_SIDE_H_

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "tests/bench/load.h"
#include "tests/bench/server_process.h"

namespace ringshift::bench {

inline void Progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

inline double Microseconds(std::chrono::duration<double> time) { return time.count() * 1e6; }

template <typename QuestionsType>
struct Side {
  ServerProcess server;
  QuestionsType questions;
  Load<QuestionsType> load;
  LoadResult last;

  template <typename... QuestionArguments>
  Side(ServerProcess started, std::size_t outstanding, std::size_t channels,
       const QuestionArguments&... arguments)
      : server(std::move(started)),
        questions(arguments...),
        load(server.address(), questions, outstanding, channels) {}

  // Server CPU a call, in microseconds.
  absl::StatusOr<double> CpuPerCall(std::size_t calls) {
    const std::chrono::nanoseconds before = server.CpuTime();
    const absl::StatusOr<LoadResult> result = load.Run(calls);
    if (!result.ok()) return result.status();
    last = *result;
    return Microseconds(server.CpuTime() - before) / static_cast<double>(calls);
  }
};

}  // namespace ringshift::bench

#endif  // RINGSHIFT_TESTS_BENCH_SIDE_H_
