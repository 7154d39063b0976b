#!/usr/bin/env bash
# Clients of Git LFS other than git-lfs: libraries for Java, Python and JavaScript, and programs that download.
#
#   .ci/clients.sh install           fetch them into the cache (once on each machine)
#   .ci/clients.sh run -- COMMAND…   run COMMAND with CLIENTS_JARS, CLIENTS_PYTHON and CLIENTS_MODULES naming where they are
#
# Needs a JDK (17 or newer) with Maven, Python 3.10 or newer with venv, git-lfs, curl, wget and aria2. On Debian, as root or
# through sudo, what is missing is installed.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=.ci/lib.sh
. "$here/lib.sh"

# Newer releases of JGit come without their LFS part. gitlfs-client logs what the server refuses.
java=(
  org.eclipse.jgit:org.eclipse.jgit.lfs:7.2.0.202503040940-r
  ru.bozaro.gitlfs:gitlfs-client:0.20.0
  org.slf4j:slf4j-simple:1.7.36
)
python=(scmrepo==3.6.2 dulwich==1.2.21 huggingface_hub==2.4.0)
javascript=@fetsorn/isogit-lfs@0.5.3

# home_of PACKAGE…: a folder for these versions.
home_of() { echo "$cache/clients-$(cksum <<<"$*" | cut -d ' ' -f 1)"; }

java_home="$(home_of "${java[@]}")"
python_home="$(home_of "${python[@]}")"
javascript_home="$(home_of "$javascript")"

install_programs() {
  git lfs version >/dev/null 2>&1 || apt_install git git-lfs
  { have curl && have wget && have aria2c; } || apt_install curl wget aria2
}

install_javascript() {
  [ -x "$javascript_home/node_modules/.bin/isogit" ] && return
  say "fetching $javascript"
  retry npm install --no-save --ignore-scripts --prefix "$javascript_home" "$javascript" ||
    die "npm could not install $javascript"
}

install() {
  install_programs
  maven_jars "$java_home" "${java[@]}"
  python_packages "$python_home" "${python[@]}"
  install_javascript
}

provide() {
  export CLIENTS_JARS="$java_home" CLIENTS_PYTHON="$python_home/bin/python"
  export CLIENTS_MODULES="$javascript_home/node_modules"
}

install_or_run "$@"
