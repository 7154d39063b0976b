#!/usr/bin/env bash
# Makes mistakes in the ledger's code, one at a time, and shows which of them no test notices: CONTRIBUTING.md.
#
#   .ci/mutate.sh install           fetch StrykerJS into the cache (once a machine)
#   .ci/mutate.sh run [FILE…]       in every file of the ledger, or in these (FILE:10-20 for some lines)
#   .ci/mutate.sh conjuncts FILE…   without the calls and negations of conditions, one at a time, which StrykerJS keeps
#   .ci/mutate.sh changed [BASE]    only in lines that differ from BASE, by default from where this branch began
#
# `changed` takes minutes: of more than MUTATE_LINES_MAX lines (150) it takes a sample, and says so. What it has not tried
# after MUTATE_SECONDS_MAX seconds (default: no limit) is left out, and it says so.
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
folders=(lambda/subjects lambda/frame/access lambda/core/ledger lambda/core/rules lambda/core/scan lambda/core/store/rules)
folders+=(lambda/core/store/adopted.ts lambda/core/store/adopted-listing.ts lambda/core/table)
# What has no unit tests of its own is left to the tests of the API.
left_out='^lambda/(subjects/((chunks|lfs)/.*|exports/messages|ci/identity-verifier|alerts/(webhook-sender|event-bus|ses)|status/queue-gauge|[^/]+/([a-z-]+-)?(contract|request|routes|handler|messages|parts|spec))|core/store/rules/archive-store|core/scan/(parse-list-answer|parse-list-entries|list-objects)|core/table/(client|sdk|table))\.ts'

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
  local name="$1" left=infinity status=0
  shift
  [ $# -gt 0 ] || return 0
  [ -z "${deadline:-}" ] || left=$((deadline - SECONDS))
  if [ "$left" != infinity ] && [ "$left" -lt 1 ]; then
    say "the time is up, so these were not mutated: $*"
    return 0
  fi
  say "mutating the layer $name"
  rm -f "$work/report.json"
  MUTATED_LAYER="$name" timeout "$left" nice node "$tools/node_modules/@stryker-mutator/core/bin/stryker.js" \
    run .ci/stryker.json --mutate "$(IFS=,; printf '%s' "$*")" >"$work/$name.log" 2>&1 &
  # `timeout` has a process group of its own, so whatever stops this script must stop it too.
  # shellcheck disable=SC2064
  trap "kill $! 2>/dev/null || true" INT TERM
  wait $! || status=$?
  trap - INT TERM
  if [ "$left" != infinity ] && [ "$status" -eq 124 ]; then
    say "the time was up before all mistakes in these were tried: $*"
    return 0
  fi
  if [ "$status" -ne 0 ]; then
    tail -n 60 "$work/$name.log" >&2
    die "StrykerJS did not finish: $work/$name.log"
  fi
  mv "$work/report.json" "$work/$name.json"
}

# layer_of FILE: whose tests must notice a mistake in it.
layer_of() {
  case "$1" in
    lambda/core/scan/*) echo scan ;;
    lambda/core/ledger/*) echo ledger ;;
    lambda/subjects/exports/rules/*) echo plans ;;
    lambda/subjects/exports/*) echo exports ;;
    lambda/subjects/gc/*) echo gc ;;
    lambda/core/rules/*) echo domain ;;
    lambda/frame/access/* | lambda/subjects/ci/* | lambda/subjects/hosts/* | lambda/subjects/invitations/* | lambda/subjects/sign-in/*) echo access ;;
    lambda/subjects/*) echo small ;;
    lambda/core/table/*) echo requests ;;
    lambda/core/store/*) echo adopted ;;
    *) die "$1 is in none of these folders: ${folders[*]}" ;;
  esac
}

# mutate FILES…: all layers, and what survived.
mutate() {
  local file name files=()
  local names=(domain ledger plans scan access gc exports small requests)
  names+=(adopted)
  for file in "$@"; do layer_of "$file" >/dev/null || exit 1; done
  install_stryker
  link_stryker
  rm -rf "$work"/*.json "$work/sandbox"
  [ -z "${MUTATE_SECONDS_MAX:-}" ] || deadline=$((SECONDS + MUTATE_SECONDS_MAX))
  for name in "${names[@]}"; do
    files=()
    for file in "$@"; do
      [ "$(layer_of "$file")" != "$name" ] || files+=("$file")
    done
    layer "$name" "${files[@]}"
  done
  node .ci/mutation-report.mjs "$work"/*.json
}

# conjuncts FILES…: of one layer. It needs no StrykerJS.
conjuncts() {
  local name file copy="$work/conjuncts"
  name="$(layer_of "$1")"
  for file in "$@"; do [ "$(layer_of "$file")" = "$name" ] || die "$file is of another layer than $1"; done
  rm -rf "$copy"
  mkdir -p "$copy"
  git ls-files -z | xargs -0 cp --parents -t "$copy"
  ln -s "$PWD/node_modules" "$copy/node_modules"
  nice node .ci/dropped-conjuncts.mjs "$copy" "$name" "$@"
  node .ci/mutation-report.mjs "$copy/report.json"
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

# sample MAX: of the changed parts, as many as have about MAX lines together. The same ones each time for a commit.
sample() {
  awk -F : -v part=25 '{
      split($2, line, "-")
      for (first = line[1]; first <= line[2]; first += part)
        printf "%s:%d-%d\n", $1, first, first + part - 1 < line[2] ? first + part - 1 : line[2]
    }' |
    shuf --random-source=<(yes "$(git rev-parse HEAD)") |
    awk -F '[:-]' -v max="$1" 'lines < max { lines += $NF - $(NF - 1) + 1; print }'
}

# lines_in RANGE…: how many lines these parts have together.
lines_in() { printf '%s\n' "$@" | awk -F '[:-]' '{ lines += $NF - $(NF - 1) + 1 } END { print lines }'; }

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
      mapfile -t files < <(git ls-files "${folders[@]}" | grep -vE "$left_out")
      mutate "${files[@]}"
    fi
    ;;
  conjuncts)
    shift
    [ $# -gt 0 ] || die 'usage: mutate.sh conjuncts FILE…'
    conjuncts "$@"
    ;;
  changed)
    from="${2:-$(base 2>/dev/null || true)}"
    if [ -z "$from" ]; then
      say 'skipped: there is no earlier commit to compare with'
      exit 0
    fi
    git rev-parse --quiet --verify "$from^{commit}" >/dev/null || die "there is no commit $from"
    mapfile -t ranges < <(changed_lines "$from" | grep -vE "$left_out")
    if [ ${#ranges[@]} -eq 0 ]; then
      say "skipped: nothing differs from $from in ${folders[*]}"
      exit 0
    fi
    mapfile -t some < <(printf '%s\n' "${ranges[@]}" | sample "${MUTATE_LINES_MAX:-150}")
    say "$(lines_in "${some[@]}") of the $(lines_in "${ranges[@]}") lines that differ from $from"
    mutate "${some[@]}"
    ;;
  *) die 'usage: mutate.sh install | run [FILE…] | conjuncts FILE… | changed [BASE]' ;;
esac
