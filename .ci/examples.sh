#!/usr/bin/env bash
# What the examples of docs/limit-uploads.md run on: Express, Flask and Go.
#
#   .ci/examples.sh install           fetch them into the cache (once on each machine)
#   .ci/examples.sh run -- COMMAND…   run COMMAND with EXAMPLES_MODULES and EXAMPLES_PYTHON naming where they are
#
# Needs Python 3.9 or newer with venv, and Go. On Debian, as root or through sudo, what is missing is installed.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

express=express@5.3.0
express_home="$cache/${express/@/-}"
flask=(flask==3.1.3 requests==2.34.2)
flask_home="$cache/${flask[0]/==/-}"

install() {
  have python3 || apt_install python3
  have go || apt_install golang-go
  python_packages "$flask_home" "${flask[@]}"
  [ -d "$express_home/node_modules/express" ] && return
  say "fetching $express"
  retry npm install --no-save --ignore-scripts --prefix "$express_home" "$express" ||
    die "npm could not install $express"
}

provide() { export EXAMPLES_MODULES="$express_home/node_modules" EXAMPLES_PYTHON="$flask_home/bin"; }

install_or_run "$@"
