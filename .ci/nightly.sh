#!/usr/bin/env bash
# What takes longer than anybody waits: other seeds each day, for NIGHTLY_MINUTES (60). It says which ranges it ran. Each
# violation is printed with the command that repeats it. Then it goes on, and fails at the end.
#
#   .ci/nightly.sh simulate    the simulator, in all its focuses in turn
#   .ci/nightly.sh compare     random calls of the table's ledger and the one in memory
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

minutes="${NIGHTLY_MINUTES:-60}"
piece=1000
# A day has 100,000 seeds. The same day has the same ones.
first=$((300000000 + $(date +%s) / 86400 % 10000 * 100000))
last=$((first + 100000))
deadline=$((SECONDS + minutes * 60))

is_over() { [ "$SECONDS" -ge "$deadline" ] || [ "$1" -ge "$last" ]; }

simulate() {
  local seed focus status=0
  for ((seed = first; ; seed += piece)); do
    for focus in everything slow late-giants adopted; do
      ! is_over "$seed" || return "$status"
      npm run -s simulate -- --focus "$focus" --seed "$seed" --seeds "$piece" || status=1
      say "seeds $seed to $((seed + piece - 1)) of $focus"
    done
  done
}

compare() {
  local seed status=0
  for ((seed = first; ; seed += 100)); do
    ! is_over "$seed" || return "$status"
    LEDGER_SEED=$seed LEDGER_SEEDS=100 npx vitest run --project unit test/contract/ledger-differential.test.ts || status=1
    say "seeds $seed to $((seed + 99)): LEDGER_SEED=$seed LEDGER_SEEDS=100 repeats them"
  done
}

case "${1:-}" in
  simulate | compare) "$1" ;;
  *) die 'usage: nightly.sh simulate | compare' ;;
esac
