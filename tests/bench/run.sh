#!/usr/bin/env bash
# Builds what a suite of benchmarks needs (preset release) and runs it.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: tests/bench/run.sh SUITE [--json FILE]

  SUITE        router: what the router adds to a call and to a batch, and its memory
               ring: memory, lookups, builds and pools of a ring, against what one would write otherwise
               migration: what a migration costs while it is under way
               peers: memory, build and lookup of a ring beside the real pingora-ketama
  --json FILE  also write the figures to FILE, as one JSON object: {"name": number, ...}

Prints a table. A benchmark that gets a wrong answer ends the suite without figures, with exit code 1.
Needs the machine for itself: for `router` with 5 GiB of memory and some five minutes, for `ring` with 3 GiB
and some two minutes, for `migration` with 1 GiB and some two minutes, for `peers` with 1 GiB and one minute. `peers` needs cargo, and its registry for the
first time: without them the exit code is 3.
docs/benchmarks.md says what each figure means.
USAGE
}

case "${1-}" in
  -h | --help)
    usage
    exit 0
    ;;
  router | ring | migration | peers) ;;
  *)
    echo "run.sh: expected a suite, not '${1-}'" >&2
    usage >&2
    exit 2
    ;;
esac
arguments=("$1")
if (($# > 1)); then
  if (($# != 3)) || [[ $2 != --json ]]; then
    echo "run.sh: unexpected '${*:2}'" >&2
    usage >&2
    exit 2
  fi
  arguments+=(--json "$(realpath --canonicalize-missing "$3")")
fi

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
if [[ $1 == peers ]]; then
  pingora=$(tests/bench/peers/build.sh)
  arguments+=(--pingora "$pingora")
fi
{
  deploy/install-deps.sh
  cmake --preset release
  cmake --build --preset release --target ringshift_bench ringshiftd
} >&2
exec build/release/tests/bin/ringshift_bench "${arguments[@]}"
