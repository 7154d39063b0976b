#!/usr/bin/env bash
# The real engines that the contract suites run against: DynamoDB Local and versitygw. ENGINE_S3=seaweedfs: SeaweedFS instead of
# versitygw, which files are tried on, too.
#
#   .ci/engines.sh install           fetch and build both into the cache (once on each machine)
#   .ci/engines.sh run -- COMMAND…   start both on free loopback ports, run COMMAND with ENGINE_… set, stop both
#
# Needs a JDK (17 or newer) with Maven, and Go 1.25 or newer. On Debian it installs a JDK and Maven, as root or through
# sudo.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

dynamodb_version=2.6.1
versitygw_version=1.8.0
# Its versions 2 and later are no versions for Go.
seaweedfs_version=0.0.0-20261109003541-7506e5f91cd6
engine_s3="${ENGINE_S3:-versitygw}"

dynamodb_jars="$cache/dynamodb-local-$dynamodb_version"
versitygw_bin="$cache/versitygw-$versitygw_version"
seaweedfs_bin="$cache/seaweedfs-$seaweedfs_version"

install() {
  maven_jars "$dynamodb_jars" "com.amazonaws:DynamoDBLocal:$dynamodb_version"
  case "$engine_s3" in
    versitygw) go_program "$versitygw_bin" "github.com/versity/versitygw/cmd/versitygw@v$versitygw_version" ;;
    seaweedfs) go_program "$seaweedfs_bin" "github.com/seaweedfs/seaweedfs/weed@v$seaweedfs_version" ;;
    *) die "there is no engine $engine_s3" ;;
  esac
}

# Metadata is kept in a separate folder: not every file system of a CI machine has extended attributes.
versitygw() {
  ROOT_ACCESS_KEY="$ENGINE_S3_ACCESS_KEY" ROOT_SECRET_KEY="$ENGINE_S3_SECRET_KEY" \
    exec "$versitygw_bin" --quiet --port "127.0.0.1:$1" posix --sidecar "$work/sidecar" --versioning-dir "$work/versions" "$work/objects"
}

# Each of its parts has ports of its own, and none tells anybody of it.
seaweedfs() {
  local ports=() each
  for each in {1..7}; do ports+=("$(free_port)"); done
  cat >"$work/s3.json" <<JSON
{ "identities": [{ "name": "test", "actions": ["Admin", "Read", "Write", "List"],
  "credentials": [{ "accessKey": "$ENGINE_S3_ACCESS_KEY", "secretKey": "$ENGINE_S3_SECRET_KEY" }] }] }
JSON
  exec "$seaweedfs_bin" server -dir="$work/objects" -ip=127.0.0.1 -ip.bind=127.0.0.1 -master.telemetry=false \
    -master.port="${ports[0]}" -master.port.grpc="${ports[1]}" -master.volumeSizeLimitMB=64 \
    -volume.port="${ports[2]}" -volume.port.grpc="${ports[3]}" -volume.max=200 \
    -filer.port="${ports[4]}" -filer.port.grpc="${ports[5]}" \
    -s3 -s3.port="$1" -s3.port.grpc="${ports[6]}" -s3.port.iceberg=0 -s3.port.lance=0 -s3.config="$work/s3.json"
}

pids=()
work=''

# Stops the engines by their pids, and waits until they have ended.
stop_engines() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  pids=()
  [ -z "$work" ] || rm -rf "$work"
}

# started NAME PORT: waits until the latest background process listens on the port.
started() {
  local pid=$!
  pids+=("$pid")
  wait_for_port "$2" "$pid" 60 || {
    tail -n 40 "$work/$1.log" >&2
    die "$1 did not start"
  }
  say "$1 on port $2"
}

# Starts the engines.
provide() {
  trap stop_engines EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  work="$(mktemp -d)"
  mkdir "$work/objects" "$work/sidecar" "$work/versions"
  local dynamodb_port s3_port
  dynamodb_port="$(free_port)"
  (cd "$work" && exec java "-Djava.library.path=$dynamodb_jars" -cp "$dynamodb_jars/*" \
    "$here/LoopbackDynamoDb.java" -inMemory -disableTelemetry -port "$dynamodb_port") >"$work/dynamodb.log" 2>&1 &
  started dynamodb "$dynamodb_port"

  # Letters and digits: DynamoDB Local takes no others, and a server has one key for both.
  export ENGINE_S3_ACCESS_KEY=enginetest ENGINE_S3_SECRET_KEY=engine-test-secret
  s3_port="$(free_port)"
  "$engine_s3" "$s3_port" >"$work/$engine_s3.log" 2>&1 &
  started "$engine_s3" "$s3_port"

  export ENGINE_DYNAMODB_URL="http://127.0.0.1:$dynamodb_port"
  export ENGINE_S3_URL="http://127.0.0.1:$s3_port"
}

install_or_run "$@"
