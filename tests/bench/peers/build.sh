#!/usr/bin/env bash
# Builds the peers with cargo into build/peers and prints the path of the program.
# Exit code 3, with the reason, where cargo or what it has to fetch is missing.
set -euo pipefail

fail() {
  echo "peers/build.sh: $2" >&2
  exit "$1"
}
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
command -v cargo >/dev/null ||
  fail 3 "the suite 'peers' needs cargo, which is not in PATH: install Rust (https://rustup.rs) and run it again"
readonly manifest=tests/bench/peers/Cargo.toml
cargo fetch --quiet --locked --manifest-path "$manifest" >&2 ||
  fail 3 "cargo cannot get the crates of $manifest; its message is above"
# What cargo's environment would add to the flags, and thereby to the figures, is left out.
env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS -u CARGO_BUILD_TARGET \
  cargo build --quiet --release --locked --offline --manifest-path "$manifest" --target-dir build/peers >&2 ||
  fail 1 "cargo cannot build $manifest; its message is above"
echo "$PWD/build/peers/release/pingora_peer"
