#!/usr/bin/env bash
# A current git-lfs, beside the one that Debian has.
#
#   .ci/git-lfs.sh install           build it into the cache (once on each machine)
#   .ci/git-lfs.sh run -- COMMAND…   run COMMAND with it first on the PATH
#
# Needs Go 1.25 or newer.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

git_lfs_version=3.7.1
git_lfs_home="$cache/git-lfs-$git_lfs_version"

install() { go_program "$git_lfs_home/git-lfs" "github.com/git-lfs/git-lfs/v3@v$git_lfs_version"; }

provide() {
  export PATH="$git_lfs_home:$PATH"
  say "$(git lfs version)"
}

install_or_run "$@"
