#!/usr/bin/env bash
# Makes mistakes in the ledger's code, one at a time, and shows which of them no test notices: docs/mutation.md.
#
#   .ci/mutate.sh install           fetch StrykerJS into the cache (once a machine)
#   .ci/mutate.sh run [FILE…]       in every file of the ledger, or in these (FILE:10-20 for some lines)
#   .ci/mutate.sh changed [BASE]    only in lines that differ from BASE, by default from where this branch began
#
# Fails if a mistake survives that .ci/mutation-survivors.json does not explain.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

# StrykerJS 10 needs Node 22.
stryker_version=9.6.1
stryker_home="$cache/stryker-$stryker_version"
work=.cache/mutation
tools="$work/tools-$stryker_version"
folders=(lambda/domain lambda/use-cases lambda/adapters/dynamodb)

install_stryker() {
  [ -e "$stryker_home/node_modules/.package-lock.json" ] && return
  say "fetching StrykerJS $stryker_version"
  mkdir -p "$stryker_home"
  # Without its peer, vitest: it must use the project's own.
  retry npm install --no-save --legacy-peer-deps --prefix "$stryker_home" \
    "@stryker-mutator/core@$stryker_version" "@stryker-mutator/vitest-runner@$stryker_version" ||
    die 'npm could not install StrykerJS'
}

# Node looks for vitest in the folders above the runner, so the runner must lie below the project.
link_stryker() {
  [ -e "$tools/node_modules/.package-lock.json" ] && return
  rm -rf "$tools"
  mkdir -p "$tools"
  cp -al "$stryker_home/node_modules" "$tools/" 2>/dev/null || cp -a "$stryker_home/node_modules" "$tools/"
}

# layer NAME FILES…: mutates these files, and runs the tests of their layer (vitest.mutation.config.ts).
layer() {
  local name="$1"
  shift
  [ $# -gt 0 ] || return 0
  say "mutating the layer $name"
  rm -f "$work/report.json"
  MUTATED_LAYER="$name" nice node "$tools/node_modules/@stryker-mutator/core/bin/stryker.js" run .ci/stryker.json \
    --mutate "$(IFS=,; printf '%s' "$*")" >"$work/$name.log" 2>&1 || {
    tail -n 60 "$work/$name.log" >&2
    die "StrykerJS did not finish: $work/$name.log"
  }
  mv "$work/report.json" "$work/$name.json"
}

# mutate FILES…: all layers, and what survived.
mutate() {
  local file domain=() scan=() use_cases=() table=()
  for file in "$@"; do
    case "$file" in
      lambda/domain/scan/* | lambda/use-cases/scan/*) scan+=("$file") ;;
      lambda/domain/*) domain+=("$file") ;;
      lambda/use-cases/*) use_cases+=("$file") ;;
      lambda/adapters/dynamodb/*) table+=("$file") ;;
      *) die "$file is in none of these folders: ${folders[*]}" ;;
    esac
  done
  install_stryker
  link_stryker
  rm -f "$work"/{domain,scan,use-cases,table}.json
  layer domain "${domain[@]}"
  layer scan "${scan[@]}"
  layer use-cases "${use_cases[@]}"
  layer table "${table[@]}"
  node .ci/mutation-report.mjs "$work"/{domain,scan,use-cases,table}.json
}

# changed_lines BASE: FILE:FIRST-LAST of each changed part of a file that is mutated.
changed_lines() {
  git diff -U0 --no-color --no-ext-diff --diff-filter=AMR "$1" -- "${folders[@]}" | awk '
    /^\+\+\+ b\// { file = substr($2, 3) }
    /^@@/ && file ~ /\.ts$/ {
      count = split(substr($3, 2), part, ",")
      lines = count == 2 ? part[2] : 1
      if (lines > 0) printf "%s:%d-%d\n", file, part[1], part[1] + lines - 1
    }'
}

base() {
  git merge-base HEAD origin/main 2>/dev/null | grep -vxF "$(git rev-parse HEAD)" || git rev-parse --verify HEAD~1
}

case "${1:-}" in
  install) install_stryker ;;
  run)
    shift
    if [ $# -gt 0 ]; then
      mutate "$@"
    else
      # What has no unit tests of its own is left to the tests of the API.
      mapfile -t files < <(git ls-files "${folders[@]}" |
        grep -vE '^lambda/use-cases/(access/|downloads/|deps\.ts|list-tenant\.ts)|/(token-store|request-keys)\.ts$')
      mutate "${files[@]}"
    fi
    ;;
  changed)
    if ! from="${2:-$(base 2>/dev/null)}" || [ -z "$from" ]; then
      say 'skipped: there is no earlier commit to compare with'
      exit 0
    fi
    mapfile -t lines < <(changed_lines "$from")
    if [ ${#lines[@]} -eq 0 ]; then
      say "skipped: nothing differs from $from in ${folders[*]}"
      exit 0
    fi
    mutate "${lines[@]}"
    ;;
  *) die 'usage: mutate.sh install | run [FILE…] | changed [BASE]' ;;
esac
