# Sourced by the scripts beside it: the cache folder, installing with retries, loopback ports.
# shellcheck shell=bash

# What takes long to fetch or build is kept here, outside the checkout, so that it is made once a machine.
cache="${LFS_QUOTA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/lfs-quota}"
mkdir -p "$cache"

say() { printf '%s\n' "$*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# retry COMMAND…: three tries, quietly; what the last one printed is shown when all fail.
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

# have PROGRAM: true where it can be run.
have() { command -v "$1" >/dev/null 2>&1; }

# apt_install PACKAGE…: from Debian's packages, as root or through sudo.
apt_install() {
  local as_root=()
  have apt-get || die "cannot install $*: there is no apt-get here; install it by hand"
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || die "cannot install $*: neither root nor sudo; install it by hand"
    as_root=(sudo)
  fi
  retry "${as_root[@]}" apt-get -q update || die 'apt-get update failed'
  retry "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends "$@" ||
    die "apt-get could not install $*"
}

# free_port: a loopback port that nothing listened on a moment ago.
free_port() {
  node -e 'const s = require("node:net").createServer().listen(0, "127.0.0.1", () => {
    console.log(s.address().port); s.close(); })'
}

# wait_for_port PORT PID SECONDS: until the process listens; fails when it ends or the time is up.
wait_for_port() {
  local deadline=$((SECONDS + $3))
  while ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; do
    kill -0 "$2" 2>/dev/null || return 1
    [ "$SECONDS" -lt "$deadline" ] || return 1
    sleep 0.2
  done
}
