#!/usr/bin/env bash
# What test/proxies runs lfs-quota behind, with the files of packaging/.
#
#   .ci/proxies.sh install   nginx, Caddy and git-lfs, from Debian's packages: once on a machine
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

install() {
  # A user who isn't root doesn't have it in the path.
  local path="$PATH:/usr/sbin:/usr/local/sbin"
  { PATH="$path" have nginx && have caddy; } || apt_install nginx caddy
  git lfs version >/dev/null 2>&1 || apt_install git git-lfs
}

case "${1:-}" in
  install) install ;;
  *) die 'usage: .ci/proxies.sh install' ;;
esac
