#!/usr/bin/env bash
# The image of packaging/Dockerfile, built and run without any registry of images.
#
#   .ci/image.sh install           what builds it: from Debian's packages, once on a machine
#   .ci/image.sh run -- COMMAND…   builds it, runs a server of it, and COMMAND with SERVE_URL and SERVE_ADMIN_TOKEN
#
# The base that the Dockerfile names can't be fetched here. A Debian of the same kind with the Node of the other lanes stands
# in for it, by the same name.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

base="$cache/image-base.tar"
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
store="$cache/buildah"

buildah() { command buildah --root "$store" --runroot "$store-run" "$@"; }

install() {
  { have buildah && have mmdebstrap; } || apt_install buildah mmdebstrap uidmap
  [ -f "$base" ] || { retry mmdebstrap --format=tar --variant=minbase bookworm "$base.part" && mv "$base.part" "$base"; }
}

# The name that the Dockerfile has.
base_name() { sed -n 's/^FROM //p' packaging/Dockerfile; }

build() {
  local container
  command buildah --root "$store" --runroot "$store-run" rm --all >/dev/null
  container="$(buildah from scratch)"
  buildah add -q "$container" "$base" / >/dev/null
  buildah copy -q "$container" "$(command -v node)" /usr/local/bin/node >/dev/null
  buildah config --cmd node "$container"
  buildah commit -q "$container" "$(base_name)" >/dev/null
  buildah rm "$container" >/dev/null
  npm run -s prepack
  buildah bud -q --format docker --pull-never -f packaging/Dockerfile -t lfs-quota . >/dev/null
}

# A server of the image, as the user that it names. Its processes are this machine's.
serve() {
  local port="$1" container="$2"
  buildah run --env "LFS_QUOTA_PUBLIC_URL=http://127.0.0.1:$port" --env "LFS_QUOTA_LISTEN=127.0.0.1:$port" \
    --env "LFS_QUOTA_LISTEN_METRICS=127.0.0.1:$(free_port)" --env "LFS_QUOTA_ADMIN_TOKEN=$SERVE_ADMIN_TOKEN" \
    --env LFS_QUOTA_RATE=0 "$container" -- sh -c 'echo $$ >/tmp/pid; id -u; exec lfs-quota serve'
}

run() {
  local container port server status=0
  build
  say "image: $(buildah images --format '{{.Size}}' lfs-quota)"
  container="$(buildah from --pull-never lfs-quota)"
  pid_file="$(buildah mount "$container")/tmp/pid"
  port="$(free_port)"
  SERVE_ADMIN_TOKEN="$(head -c 32 /dev/urandom | base64 | tr -dc a-zA-Z0-9)"
  SERVE_URL="http://127.0.0.1:$port"
  export SERVE_URL SERVE_ADMIN_TOKEN
  serve "$port" "$container" >"$build/server.log" 2>&1 &
  server=$!
  trap 'kill "$(cat "$pid_file")" 2>/dev/null || true' EXIT
  wait_for_port "$port" "$server" 30 || { cat "$build/server.log"; die 'the server of the image did not start'; }
  "$@" || status=$?
  kill -TERM "$(cat "$pid_file")"
  wait "$server" || { cat "$build/server.log"; die 'the server of the image did not end well'; }
  return "$status"
}

case "${1:-}" in
  install) install ;;
  run) shift 2 && build="$(mktemp -d)" && run "$@" ;;
  *) die 'usage: .ci/image.sh install | run -- COMMAND…' ;;
esac
