#!/usr/bin/env bash
# The description of the API, linted, and the API against requests made from it.
#
#   .ci/api.sh install           fetch the linter (Redocly) and schemathesis into the cache (once a machine)
#   .ci/api.sh run -- COMMAND…   run COMMAND with API_REDOCLY and API_SCHEMATHESIS naming their programs
#
# Needs Python 3.10 or newer with venv. On Debian, as root, what is missing is installed.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

schemathesis_version=4.32.5
schemathesis_home="$cache/schemathesis-$schemathesis_version"
redocly_version=2.77.0
redocly_home="$cache/redocly-$redocly_version"

install() {
  python_packages "$schemathesis_home" "schemathesis==$schemathesis_version"
  [ -x "$redocly_home/node_modules/.bin/redocly" ] && return
  say "fetching the Redocly linter $redocly_version"
  retry npm install --no-save --ignore-scripts --prefix "$redocly_home" "@redocly/cli@$redocly_version" ||
    die 'npm could not install @redocly/cli'
}

provide() {
  export API_REDOCLY="$redocly_home/node_modules/.bin/redocly" API_SCHEMATHESIS="$schemathesis_home/bin/st"
}

install_or_run "$@"
