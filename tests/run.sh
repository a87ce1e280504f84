#!/usr/bin/env bash
# Installs what is missing, builds a preset and runs all of its tests.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'USAGE'
Usage: tests/run.sh [PRESET] [-- CTEST-ARGUMENT...]

  PRESET  release (the default), debug, asan, tsan or clang

Examples:
  tests/run.sh                        everything, as CI does first
  tests/run.sh asan                   under AddressSanitizer and UndefinedBehaviorSanitizer
  tests/run.sh release -- -R Ring     only the tests whose name has "Ring"
USAGE
}

preset=release
if (($# > 0)) && [[ "$1" != -- ]]; then
  case "$1" in
    release | debug | asan | tsan | clang) preset=$1 ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "run.sh: unknown preset '$1'" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
fi
if (($# > 0)); then
  if [[ "$1" != -- ]]; then
    echo "run.sh: unexpected '$1'; arguments for ctest stand behind --" >&2
    exit 2
  fi
  shift
fi

dependencies=(--tests)
[[ "$preset" == clang ]] && dependencies+=(--checks)
deploy/install-deps.sh "${dependencies[@]}"
cmake --preset "$preset"
cmake --build --preset "$preset"
ctest --preset "$preset" --parallel "$(nproc)" "$@"
