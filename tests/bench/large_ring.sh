#!/usr/bin/env bash
# The largest ring that is promised: 2,048 nodes of weight 625 as v1, 204.8 M points. Looks a million keys up
# on it with ringctl, in every layout, and fails if the peak of memory is 1.5 times the ring or more, or if
# the layouts disagree on an owner. Takes about 2 GB of memory.
set -euo pipefail

if (($# > 1)) || [[ ${1-} == -* ]]; then
  echo "Usage: tests/bench/large_ring.sh [RINGCTL]   (default: build/release/bin/ringctl)" >&2
  exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
readonly ringctl=${1-build/release/bin/ringctl} nodes=2048 weight=625 points_per_weight=160 keys=1000000

fail() {
  echo "large_ring.sh: $1" >&2
  exit 1
}
[[ -x $ringctl ]] || fail "$ringctl is no program: build it with \`cmake --build --preset release --target ringctl\`"

work=$(mktemp -d "${TMPDIR:-/tmp}/ringshift-large-ring.XXXXXX")
lookup=""
clean_up() {
  [[ -z $lookup ]] || kill "$lookup" 2>/dev/null || true
  rm -rf "$work"
}
trap clean_up EXIT

# The topology with v1 in layout $1.
topology() {
  cat <<TOPOLOGY
data_centers:
  - name: large
    rings:
      v1: {points_per_weight: $points_per_weight, layout: $1}
    nodes:
TOPOLOGY
  for ((i = 0; i < nodes; ++i)); do
    printf '      - {name: n%d, address: "10.0.%d.%d:443", weight: %d}\n' $i $((i / 256)) $((i % 256)) $weight
  done
}

# The first number called $1 in $work/stats, which is v1's.
stat_of() { grep -oE "\"$1\":[0-9.e+-]+" "$work/stats" | head -n 1 | cut -d : -f 2; }

# Looks the keys up with v1 in layout $1, writes the answers to $work/owners-$1 and prints a row.
measure() {
  local layout=$1 start seconds peak bytes ratio
  topology "$layout" >"$work/topology.yaml"
  start=$EPOCHREALTIME
  "$ringctl" lookup --topology "$work/topology.yaml" --data-center large --ring v1 \
    <"$work/input" >"$work/owners-$layout" &
  lookup=$!
  # It does not end before the peak is read, because its input does not: every key has been answered by then.
  exec 3>"$work/input"
  cat "$work/keys" >&3
  until [[ $(tail -n 1 "$work/owners-$layout") == "$last_key"$'\t'* ]]; do
    kill -0 "$lookup" 2>/dev/null || fail "ringctl lookup ended before it had answered every key"
    sleep 0.05
  done
  seconds=$(awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
  peak=$(awk '/^VmHWM:/ { printf "%.0f", $2 * 1024 }' "/proc/$lookup/status")
  exec 3>&-
  wait "$lookup" || fail "ringctl lookup failed"
  lookup=""

  "$ringctl" ring stats --topology "$work/topology.yaml" --data-center large --json >"$work/stats"
  bytes=$(stat_of memory_bytes)
  ratio=$(awk -v peak="$peak" -v bytes="$bytes" 'BEGIN { printf "%.3f", peak / bytes }')
  printf '%-7s %11s %12s %12s %11s %8s %8.4f\n' "$layout" "$(stat_of points)" "$bytes" "$peak" "$ratio" \
    "$seconds" "$(stat_of cv)"
  awk -v ratio="$ratio" 'BEGIN { exit ratio >= 1.5 }' || fail "the peak is $ratio times the ring; below 1.5 is promised"
}

seq -f '/object/%.0f' 1 $keys >"$work/keys"
last_key=$(tail -n 1 "$work/keys")
mkfifo "$work/input"
printf '%-7s %11s %12s %12s %11s %8s %8s\n' LAYOUT POINTS BYTES PEAK PEAK/RING SECONDS CV
measure wide
measure packed
measure dense
for layout in packed dense; do
  cmp "$work/owners-wide" "$work/owners-$layout" || fail "wide and $layout disagree on an owner"
done
[[ $(wc -l <"$work/owners-wide") == "$keys" ]] || fail "not every key was answered"
echo "wide, packed and dense give the same owners for $keys keys"
