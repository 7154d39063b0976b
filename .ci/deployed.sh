#!/usr/bin/env bash
# The emulators of the deployed lane: ministack, an emulated AWS to which the CDK's command line deploys the whole
# stack, and AWS's own emulator of the Lambda runtime, which runs the bundles of the functions.
#
#   .ci/deployed.sh install           fetch both emulators into the cache (once on each machine)
#   .ci/deployed.sh run -- COMMAND…   run COMMAND with DEPLOYED_MINISTACK and DEPLOYED_RIE naming their programs
#
# Needs Python 3.10 or newer with venv, openssl, git and git-lfs. On Debian it installs
# what is missing, as root or through sudo.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

ministack_version=1.5.33
ministack_home="$cache/ministack-$ministack_version"
# The runtime emulator ships inside this package, for both architectures.
sam_version=1.163.0
rie_bin="$cache/aws-lambda-rie-$sam_version"

install_ministack() {
  have openssl || apt_install openssl
  git lfs version >/dev/null 2>&1 || apt_install git git-lfs
  python_packages "$ministack_home" "ministack==$ministack_version"
}

install_rie() {
  [ -x "$rie_bin" ] && return
  local build machine
  build="$(mktemp -d "$cache/build.XXXXXX")"
  machine="$(uname -m)"
  [ "$machine" != aarch64 ] || machine=arm64
  say "fetching the Lambda runtime emulator (aws-sam-cli $sam_version)"
  retry "$ministack_home/bin/pip" download --disable-pip-version-check --no-deps --dest "$build" \
    "aws-sam-cli==$sam_version" || die 'pip could not fetch aws-sam-cli'
  (cd "$build" && python3 -m zipfile -e ./*.whl . && chmod +x "samcli/local/rapid/aws-lambda-rie-$machine")
  # In one step, so that an interrupted install leaves nothing that looks complete.
  mv -T "$build/samcli/local/rapid/aws-lambda-rie-$machine" "$rie_bin"
  rm -rf "$build"
}

install() {
  install_ministack
  install_rie
}

provide() { export DEPLOYED_MINISTACK="$ministack_home/bin/ministack" DEPLOYED_RIE="$rie_bin"; }

install_or_run "$@"
