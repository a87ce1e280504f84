#!/usr/bin/env bash
# Installs the Debian/Ubuntu packages that Ringshift is built, run and tested with.
# Idempotent, asks nothing, and touches apt only when something is missing.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/install-deps.sh [--tests] [--checks] [--list]

  (no option)  what the build needs: compiler, CMake, gRPC, Abseil, prometheus-cpp, SQLite, ...
  --tests      also what the tests run against: nginx, prometheus (for promtool), etcd, openssl, curl
  --checks     also what the source checks need: clang, clang-format, node and npm (for buf)
  --list       print the packages, install nothing
USAGE
}

build_packages=(
  g++ cmake ninja-build ccache pkg-config
  libgrpc++-dev libgrpc-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler
  libabsl-dev prometheus-cpp-dev libxxhash-dev libyaml-cpp-dev libsqlite3-dev
  libcli11-dev libcpp-httplib-dev libgtest-dev libgmock-dev libbenchmark-dev
)
test_packages=(nginx-light prometheus etcd-server etcd-client openssl curl procps)
check_packages=(clang clang-format)

packages=("${build_packages[@]}")
list=false
for argument in "$@"; do
  case "$argument" in
    --tests) packages+=("${test_packages[@]}") ;;
    --checks)
      packages+=("${check_packages[@]}")
      # A node that was not installed by apt is as good as Debian's.
      command -v npm >/dev/null 2>&1 || packages+=(nodejs npm)
      ;;
    --list) list=true ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "install-deps.sh: unknown option '$argument'" >&2
      usage >&2
      exit 2
      ;;
  esac
done

if $list; then
  printf '%s\n' "${packages[@]}"
  exit 0
fi

if ! command -v apt-get >/dev/null 2>&1; then
  echo "install-deps.sh: apt-get not found: this script is for Debian 12 or newer and Ubuntu 24.04 or newer." >&2
  echo "Install the equivalents of: ${packages[*]}" >&2
  exit 1
fi

missing=()
for package in "${packages[@]}"; do
  status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [[ "$status" == installed ]] || missing+=("$package")
done
if ((${#missing[@]} == 0)); then
  echo "install-deps.sh: all ${#packages[@]} packages are installed"
  exit 0
fi

sudo=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "install-deps.sh: not root and no sudo; as root, run: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  sudo=(sudo)
fi

# The packages prometheus, nginx and etcd start daemons on ports 9090, 9100, 80 and 2379. The tests run their
# own on ports of their own, so on a machine with an init system the packaged daemons are left stopped.
policy=/usr/sbin/policy-rc.d
if [[ " ${missing[*]} " =~ \ (nginx-light|prometheus|etcd-server)\  ]] && [[ ! -e $policy ]]; then
  echo "install-deps.sh: keeping the daemons of nginx, prometheus and etcd from starting (temporary $policy)"
  printf '#!/bin/sh\nexit 101\n' | "${sudo[@]}" tee "$policy" >/dev/null
  "${sudo[@]}" chmod 755 "$policy"
  trap '"${sudo[@]}" rm -f "$policy"' EXIT
fi

echo "install-deps.sh: installing ${#missing[@]} of ${#packages[@]} packages: ${missing[*]}"
"${sudo[@]}" apt-get update -qq
"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "install-deps.sh: done"
