#!/usr/bin/env bash
# Fails where a folder includes what lies above it: server, client -> routing -> migration -> ring.
# Headers are found from the root of the tree, so linking alone would not notice.
set -euo pipefail
cd "$(dirname "$0")/.."

status=0
forbid() {
  local folder=$1 above=$2
  shift 2
  if grep -rnE "#include [<\"]($above)" "$folder" --include='*.h' --include='*.cc' "$@"; then
    echo "check_layers.sh: $folder/ may not include the above (folders or libraries: $above)" >&2
    status=1
  fi
}
grpc='grpc|google/protobuf|ringshift/v1/|prometheus/'
forbid ring "migration/|routing/|server/|client/|tests/|yaml-cpp|sqlite|$grpc"
forbid migration "routing/|server/|client/|tests/|yaml-cpp|prometheus/|ringshift/v1/"
# The store in etcd is a target of its own: only that may use gRPC, and nothing below it.
forbid migration "migration/etcd/|$grpc" --exclude-dir=etcd
forbid routing "migration/etcd/"
forbid routing "server/|client/|tests/|sqlite|$grpc"
forbid server "client/|tests/"
forbid client "server/|tests/|sqlite|prometheus/"
# The library is below ringctl, too.
forbid client "client/ringctl/|CLI/" --exclude-dir=ringctl
((status == 0)) && echo "every include points downward"
exit "$status"
