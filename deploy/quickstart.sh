#!/usr/bin/env bash
# From a machine with nothing installed to a running router and a first migration: installs what the build
# needs, builds, starts ringshiftd on deploy/sample-topology.yaml, routes keys through it, and moves one data
# center to 25 % and back. Everything that the router writes is in a fresh temporary directory.
set -euo pipefail

usage() {
  cat <<'USAGE'
Usage: deploy/quickstart.sh [--once]

  (no option)  ends with the router running, until Ctrl-C
  --once       ends by itself, with exit code 0 if every step went well
USAGE
}

once=false
for argument in "$@"; do
  case "$argument" in
    --once) once=true ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      echo "quickstart.sh: unknown option '$argument'" >&2
      usage >&2
      exit 2
      ;;
  esac
done

# Nothing here asks anything; this also stands in for a standard input that is closed.
exec </dev/null
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly data_center=ams other=sin percent=25 key_count=100000
readonly sample=deploy/sample-topology.yaml
readonly bin=build/release/bin
current_step="the start"
work=""
router=""

step() {
  current_step=$1
  printf '\n==> %s\n' "$1"
}

clean_up() {
  local code=$?
  trap - EXIT
  trap '' INT TERM HUP
  if [[ -n $router ]]; then
    kill -TERM "$router" 2>/dev/null || true
    # It lets calls in flight finish; after 10 s it is not asked any more.
    for ((i = 0; i < 100; ++i)); do
      kill -0 "$router" 2>/dev/null || break
      sleep 0.1
    done
    kill -KILL "$router" 2>/dev/null || true
    wait "$router" 2>/dev/null || true
  fi
  if ((code != 0 && code != 130 && code != 143)); then
    printf 'quickstart.sh: failed (exit code %d) at: %s\n' "$code" "$current_step" >&2
    if [[ -n $work && -s $work/ringshiftd.log ]]; then
      echo "quickstart.sh: the end of the router's log:" >&2
      tail -n 20 "$work/ringshiftd.log" >&2
    fi
  fi
  [[ -z $work ]] || rm -rf "$work"
  exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

fail() {
  echo "quickstart.sh: $1" >&2
  exit 1
}

# True if nothing answers on port $1.
port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# Sets the variable called $1 to port $2, or to a free one if that is taken.
choose_port() {
  local port=$2
  for ((i = 0; i < 100; ++i)); do
    if port_is_free "$port"; then
      printf -v "$1" '%s' "$port"
      return
    fi
    port=$((20000 + RANDOM % 12000))
  done
  fail "found no free port"
}

# The status line, headers and body of GET $1 on the router's HTTP port.
http_get() {
  (
    exec 3<>"/dev/tcp/127.0.0.1/$http_port" || exit 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$1" >&3
    cat <&3
  ) 2>/dev/null
}

wait_until_ready() {
  # Read whole: `grep -q` in a pipe would end `cat` by SIGPIPE.
  local answer
  for ((i = 0; i < 600; ++i)); do
    kill -0 "$router" 2>/dev/null || fail "the router has ended"
    answer=$(http_get /readyz || true)
    [[ $answer == "HTTP/1.1 200"* ]] && return
    sleep 0.1
  done
  fail "the router is not ready after 60 s"
}

ringctl() { "$bin/ringctl" "$@"; }

# Shows how the ring answers the few keys of $shown.
show_owners() { ringctl route --server "$public" --data-center "$data_center" "${shown[@]}"; }

# Routes all keys through data center $1 and writes "KEY RING OWNER", sorted as the keys are, to file $2.
route_all() {
  local start=$SECONDS
  ringctl route --server "$public" --data-center "$1" <"$work/keys" >"$work/table"
  awk 'NR > 1 { print $1, $2, $3 }' "$work/table" >"$2"
  printf '%s keys through %s in %d s: %s answered by v1, %s by v2\n' "$(wc -l <"$2")" "$1" \
    $((SECONDS - start)) "$(grep -c ' v1 ' "$2" || true)" "$(grep -c ' v2 ' "$2" || true)"
}

# Compares two files of route_all.
show_changes() {
  awk -v before="$1" '
    BEGIN { while ((getline line < before) > 0) { split(line, f, " "); owner[f[1]] = f[3] } }
    { ++keys; if ($3 != owner[$1]) ++moved }
    END { printf "%d of %d keys changed owner (%.2f %%)\n", moved, keys, 100 * moved / keys }' "$2"
}

show_counters() {
  http_get /metrics >"$work/metrics"
  grep -E '^ringshift_(routes_total|migration_v2_ratio)\{' "$work/metrics" | tr -d '\r' |
    grep -E "data_center=\"($data_center|$other)\"" | grep -vE ' 0$' || true
}

set_share() {
  ringctl migration set --server "$admin" --data-center "$data_center" --percent "$1" \
    --reason "$2" --yes
}

step "Installing what the build needs"
deploy/install-deps.sh

step "Building ringshiftd and ringctl (preset release)"
cmake --preset release >/dev/null
cmake --build --preset release --target ringshiftd ringctl

step "Starting a router on $sample"
work=$(mktemp -d "${TMPDIR:-/tmp}/ringshift-quickstart.XXXXXX")
# A copy, to be changed while the router runs.
topology=$work/topology.yaml
cp "$sample" "$topology"
choose_port public_port 7400
choose_port admin_port 7401
choose_port http_port 9464
public=127.0.0.1:$public_port
admin=127.0.0.1:$admin_port
http=127.0.0.1:$http_port
"$bin/ringshiftd" --topology="$topology" --store="sqlite:$work/state.db" \
  --public-address="$public" --admin-address="$admin" --http-address="$http" \
  2>"$work/ringshiftd.log" &
router=$!
wait_until_ready
echo "routing on $public, operators on $admin, metrics on http://$http/metrics"
ringctl status --server "$admin"

step "Keys before: v1 answers all of them"
# A few keys to look at: three that move at $percent %, and three that do not.
seq -f '/img/%.0f.jpg' 1 "$key_count" >"$work/keys"
awk 'NR <= 200' "$work/keys" | ringctl decide --salt "$data_center" --percent "$percent" >"$work/decided"
mapfile -t shown < <(awk '$2 == "v2" && ++v2 <= 3 || $2 == "v1" && ++v1 <= 3 { print $1 }' "$work/decided")
show_owners
route_all "$data_center" "$work/before"
route_all "$other" "$work/other-before"

step "$data_center to $percent %: a part of the keys, always the same, is answered by v2"
set_share "$percent" "quickstart: a first step"
show_owners
echo "Why? For the last of them:"
ringctl explain --server "$public" --data-center "$data_center" "${shown[-1]}"
route_all "$data_center" "$work/during"
show_changes "$work/before" "$work/during"
route_all "$other" "$work/other-during"
echo "the other data center: $(show_changes "$work/other-before" "$work/other-during")"

step "$data_center back to 0 %: every key is where it was"
set_share 0 "quickstart: and back"
show_owners
route_all "$data_center" "$work/after"
show_changes "$work/before" "$work/after"
cmp -s "$work/before" "$work/after" || fail "the owners are not those of before"
ringctl migration history --server "$admin" --data-center "$data_center"

step "What Prometheus sees: answers by ring version"
show_counters

step "Memory of v1 and v2"
grep '^ringshift_ring_memory_bytes{' "$work/metrics" | tr -d '\r' | sort
echo
ringctl ring stats --topology "$topology" --data-center "$data_center"

if $once; then
  step "Done"
  exit 0
fi

step "The router is running; Ctrl-C ends it"
cat <<COMMANDS
Try, from $PWD:

  $bin/ringctl route --server $public --data-center $data_center /img/1.jpg
  $bin/ringctl route --server $public --data-center iad --replicas 3 --json /img/1.jpg
  $bin/ringctl explain --server $public --data-center $data_center /img/1.jpg
  $bin/ringctl migration set --server $admin --data-center $data_center --percent 50 --reason "my first"
  $bin/ringctl migration history --server $admin
  $bin/ringctl ring stats --topology $topology --data-center iad
  sed -i '/ams-c001/d' $topology   # a node less: taken up by itself
  sed -i '/ams-c00/d' $topology    # eight more: held until you accept it
  $bin/ringctl status --server $admin
COMMANDS
if command -v curl >/dev/null; then
  echo "  curl -s http://$http/metrics | grep ^ringshift_"
else
  echo "  and look at http://$http/metrics"
fi
printf "\nThe router's log: %s\n" "$work/ringshiftd.log"
current_step="the router running"
wait "$router" || fail "the router has ended by itself"
fail "the router has ended by itself"
