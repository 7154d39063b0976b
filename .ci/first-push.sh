#!/usr/bin/env bash
# From an empty Debian with nothing but Node to a first push, as docs/serve.md and docs/git-users.md say it: their blocks are
# what is run, in a network of its own that is only a loopback. git and git-lfs are this machine's.
#
#   .ci/first-push.sh install            Debian's base, a TLS proxy, git-lfs: once on a machine
#   .ci/first-push.sh run [VERSION…]     with these versions of Node, or the one that runs now
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

base="$cache/image-base.tar"
host=lfs.example.com

install() {
  .ci/image.sh install
  have caddy || apt_install caddy
  { git lfs version >/dev/null 2>&1 && have ip; } || apt_install git git-lfs iproute2
}

# block PAGE TEXT [LANGUAGE]: the first block of shell, or of a language, on the page that has this text. Fails if none has.
block() {
  awk -v text="$2" -v fence="^\`\`\`${3:-sh}$" '$0 ~ fence { inside = 1; lines = ""; next }
    /^```$/ { if (inside && index(lines, text)) { found = 1; printf "%s", lines; exit } inside = 0 }
    inside { lines = lines $0 "\n" }
    END { exit !found }' "$1"
}

run() {
  local version as_root=()
  [ "$(id -u)" = 0 ] || as_root=(sudo "PATH=$PATH" "LFS_QUOTA_CACHE=$cache")
  work="$(mktemp -d)"
  trap 'rm -rf "$work"' EXIT
  npm pack --silent --pack-destination "$work" >/dev/null
  for version in "${@:-}"; do
    [ -z "$version" ] || use_node "$version"
    mkdir "$work/in-$version"
    # All that is started within ends with it.
    "${as_root[@]}" unshare --mount --net --pid --fork --kill-child .ci/first-push.sh inside "$work/in-$version"
  done
}

# inside WORK: in namespaces of its own.
inside() {
  local work="$1" root="$1/root" began=$SECONDS
  local chrooted=(chroot "$root" /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root)
  ip link set lo up
  mkdir -p "$root"
  mount -t tmpfs tmpfs "$root"
  tar --extract --file "$base" --directory "$root"
  mkdir -p "$root/dev" "$root/proc"
  mount --rbind /dev "$root/dev"
  mount -t proc proc "$root/proc"
  mount -t proc proc /proc
  printf '127.0.0.1 localhost %s\n' "$host" >"$root/etc/hosts"
  mount --bind "$root/etc/hosts" /etc/hosts
  cp "$(command -v node)" "$(command -v caddy)" "$root/usr/local/bin/"
  mkdir "$root/usr/local/lib/node_modules"
  cp -r "$(dirname "$(readlink -f "$(command -v npm)")")/.." "$root/usr/local/lib/node_modules/npm"
  ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
  cp "$work"/../lfs-quota-*.tgz "$root/root/"

  local start proxy tenant credentials connect
  start="$(block docs/serve.md 'npm install -g')"
  proxy="$(block docs/serve.md reverse_proxy caddyfile)"
  tenant="$(block docs/serve.md 'tenant create')"
  credentials="$(block docs/git-users.md 'git credential approve')"
  connect="$(block docs/git-users.md 'git config -f .lfsconfig')"
  say "Node $(node -p process.version), an empty Debian: $((SECONDS - began)) s"
  timed 'installed' in_root "${start%%$'\n'*}"
  timed 'ready' served "${start#*$'\n'}"
  timed 'the proxy has a certificate' proxied
  timed 'a tenant, a token, and a check' in_root "$tenant
    lfs-quota check --tenant acme" >"$work/token"
  timed 'pushed' pushed "$(grep -om1 'lfsq_[a-zA-Z0-9]*' "$work/token")"
  timed 'pulled' pulled
  kill "$server"
  wait "$server" || die 'the server did not end well'
}

# timed NAME COMMAND…: stops at the first command in it that fails, so it can't be a part of a condition.
timed() {
  local name="$1" began
  began="$(date +%s%N)"
  shift
  "$@"
  say "$name: $((($(date +%s%N) - began) / 1000000)) ms"
}

in_root() { "${chrooted[@]}" sh -euc "cd; $1"; }

served() {
  "${chrooted[@]}" sh -euc "cd; exec $1" >"$work/served" 2>"$work/log" &
  server=$!
  wait_for_line "^ready " "$work/served" "$server" 30 || { cat "$work/served" "$work/log"; return 1; }
}

# In there too: it has a CA of its own, and would have this machine trust that.
proxied() {
  printf '{\n\tlocal_certs\n\tskip_install_trust\n}\n%s' "$proxy" >"$root/root/Caddyfile"
  "${chrooted[@]}" sh -euc 'exec caddy run --config /root/Caddyfile' >"$work/proxy" 2>&1 &
  wait_for_port 443 $! 30 || { cat "$work/proxy"; return 1; }
  cp "$root/root/.local/share/caddy/pki/authorities/local/root.crt" "$root/srv/ca.crt"
  chrooted+=(NODE_EXTRA_CA_CERTS=/srv/ca.crt)
}

# pushed TOKEN: by somebody with git-lfs and a token.
pushed() {
  export HOME="$work" GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 GIT_SSL_CAINFO="$root/srv/ca.crt"
  git config --global user.name me
  git config --global user.email me@example.com
  git config --global init.defaultBranch main
  git lfs install >/dev/null
  eval "${credentials/lfsq_…/$1}"
  git init -q --bare "$work/game.git"
  git clone -q "$work/game.git" "$work/game" 2>/dev/null
  cd "$work/game"
  eval "$connect"
  git lfs track '*.bin' >/dev/null
  head -c 20000000 /dev/urandom >big.bin
  git add .
  git commit -qm 'A large file'
  git push -q origin main
}

pulled() {
  git clone -q "$work/game.git" "$work/clone"
  cmp "$work/clone/big.bin" "$work/game/big.bin"
}

case "${1:-}" in
  install) install ;;
  run) shift && run "$@" ;;
  inside) inside "$2" ;;
  *) die 'usage: .ci/first-push.sh install | run [VERSION…]' ;;
esac
