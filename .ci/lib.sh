# Sourced by the scripts beside it: the cache folder, installing with retries, loopback ports.
# shellcheck shell=bash

# What takes long to fetch or build is kept here, outside the checkout, so that each machine makes it once.
cache="${LFS_QUOTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lfs-quota}"
mkdir -p "$cache"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# retry COMMAND…: three tries, quietly. If all fail, the output of the last one is shown.
retry() {
  local try log
  log="$(mktemp)"
  for try in 1 2 3; do
    if "$@" >"$log" 2>&1; then
      rm -f "$log"
      return 0
    fi
    say "try $try of 3 failed: $*"
    sleep $((try * 5))
  done
  tail -n 40 "$log" >&2
  rm -f "$log"
  return 1
}

# install_or_run ARGUMENT…: what a script gets that fetches tools: `install`, or `run -- COMMAND…`. It has the functions
# `install`, and `provide`, after which the command finds them.
install_or_run() {
  if [ "$*" != install ] && { [ "${1:-} ${2:-}" != 'run --' ] || [ $# -le 2 ]; }; then
    die "usage: ${0##*/} install | run -- COMMAND…"
  fi
  install
  [ "$1" = run ] || return 0
  shift 2
  provide
  "$@"
}

# have PROGRAM: whether it can be run.
have() { command -v "$1" >/dev/null 2>&1; }

# apt_install PACKAGE…: from Debian's packages, as root or through sudo. Lanes that run at the same time take turns.
apt_install() (
  as_root=()
  have apt-get || die "cannot install $*: there is no apt-get here; install it by hand"
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || die "cannot install $*: neither root nor sudo; install it by hand"
    as_root=(sudo)
  fi
  flock 9
  retry "${as_root[@]}" apt-get -q update || die 'apt-get update failed'
  retry "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" ||
    die "apt-get could not install $*"
) 9>"$cache/apt.lock"

# free_port: a loopback port on which nothing listened a moment ago.
free_port() {
  node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => {
    console.log(s.address().port); s.close(); })'
}

# wait_for_port PORT PID SECONDS: until the process listens. Fails if it ends before, or when the time is up.
wait_for_port() {
  local deadline=$((SECONDS + $3))
  while ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do
    kill -0 "$2" 2>/dev/null || return 1
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.2
  done
}

# wait_for_line PATTERN FILE PID SECONDS: until the file has such a line. Fails if the process ends before, or when the time is up.
wait_for_line() {
  local deadline=$((SECONDS + $4))
  while ! grep -q "$1" "$2" 2>/dev/null; do
    kill -0 "$3" 2>/dev/null || return 1
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.05
  done
}

# use_node VERSION: puts a Node first in PATH. It comes as an npm package, kept outside the project. Lanes that begin together
# take turns.
use_node() {
  local home="$cache/node-$1" package
  package="node-$(node -p 'process.platform + "-" + process.arch')"
  (
    flock 9
    [ -x "$home/node_modules/$package/bin/node" ] ||
      retry npm install --no-save --prefix "$home" "$package@$1"
  ) 9>"$cache/node.lock" || return 1
  export PATH="$home/node_modules/$package/bin:$PATH"
}

# python_packages HOME REQUIREMENT…: installs Python packages into a virtual environment of their own.
python_packages() {
  local home="$1"
  shift
  [ -e "$home/complete" ] && return
  python3 -c 'import ensurepip, venv' >/dev/null 2>&1 || apt_install python3-venv
  say "fetching $*"
  # Made in place, because a venv cannot be moved. An install that was cut short is begun again.
  rm -rf "$home"
  python3 -m venv "$home"
  retry "$home/bin/pip" install --disable-pip-version-check "$@" || die "pip could not install $*"
  touch "$home/complete"
}

# maven_jars FOLDER GROUP:ARTIFACT:VERSION…: fetches Java packages, with all that they need to run. Installs a JDK and Maven
# if they are missing.
maven_jars() {
  local folder="$1" plugin=org.apache.maven.plugins:maven-dependency-plugin:3.8.1
  local build each group artifact version
  shift
  have javac || apt_install default-jdk-headless
  [ -d "$folder" ] && return
  have mvn || apt_install maven
  build="$(mktemp -d "$cache/build.XXXXXX")"
  {
    echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
    echo '<groupId>lfs-quota</groupId><artifactId>jars</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
    for each in "$@"; do
      IFS=: read -r group artifact version <<<"$each"
      echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
    done
    echo '</dependencies></project>'
  } >"$build/pom.xml"
  say "fetching $*"
  retry mvn -B -q -f "$build/pom.xml" "$plugin:copy-dependencies" \
    -DincludeScope=runtime "-DoutputDirectory=$build/lib" || die "Maven could not fetch $*"
  # In one step, so that an interrupted install leaves nothing that looks complete.
  mv -T "$build/lib" "$folder"
  rm -rf "$build"
}

# go_program FILE PACKAGE@VERSION: builds the program of a Go package.
go_program() {
  local file="$1" package="$2" build
  [ -x "$file" ] && return
  have go || die "$package is built with Go 1.25 or newer, which is not on this machine"
  build="$(mktemp -d "$cache/build.XXXXXX")"
  say "building $package (a minute or more)"
  # Not by go install, which refuses a module that replaces others.
  (cd "$build" && go mod init program) 2>/dev/null &&
    retry go -C "$build" get "$package" && retry go -C "$build" build -o program "${package%@*}" ||
    die "go could not build $package"
  mkdir -p "$(dirname "$file")"
  # In one step, so that a build that was cut short leaves nothing that looks complete.
  mv -T "$build/program" "$file"
  rm -rf "$build"
}
