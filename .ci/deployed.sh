#!/usr/bin/env bash
# The whole stack, deployed by the CDK's command line to an AWS that runs on this machine (ministack).
#
#   .ci/deployed.sh install           fetch the emulator into the cache (once a machine)
#   .ci/deployed.sh run -- COMMAND…   run COMMAND with DEPLOYED_MINISTACK naming its program
#
# Needs Python 3.10 or newer with venv, openssl, git and git-lfs. On Debian, as root, what is missing is installed.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

ministack_version=1.5.33
ministack_home="$cache/ministack-$ministack_version"

install_ministack() {
  have openssl || apt_install openssl
  git lfs version >/dev/null 2>&1 || apt_install git git-lfs
  [ -x "$ministack_home/bin/ministack" ] && return
  python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || apt_install python3-venv
  say "fetching ministack $ministack_version"
  # Made in place, as a venv can't be moved; its program stands last, so a cut install is begun again.
  rm -rf "$ministack_home"
  python3 -m venv "$ministack_home"
  retry "$ministack_home/bin/pip" install --disable-pip-version-check "ministack==$ministack_version" ||
    die 'pip could not install ministack'
}

case "${1:-}" in
  install)
    install_ministack
    ;;
  run)
    if [ "${2:-}" != -- ] || [ $# -le 2 ]; then die 'usage: deployed.sh run -- COMMAND…'; fi
    shift 2
    install_ministack
    export DEPLOYED_MINISTACK="$ministack_home/bin/ministack"
    "$@"
    ;;
  *)
    die 'usage: deployed.sh install | deployed.sh run -- COMMAND…'
    ;;
esac
