#!/usr/bin/env bash
# What takes longer than anybody waits: the simulator in all its focuses in turn, with other seeds each day, for
# NIGHTLY_MINUTES (60). It says which ranges it ran. Each violation is printed with the command that repeats it. Then it
# goes on, and fails at the end.
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

status=0
for ((seed = first; seed < last; seed += piece)); do
  for focus in everything slow late-giants adopted; do
    [ "$SECONDS" -lt "$deadline" ] || exit "$status"
    npm run -s simulate -- --focus "$focus" --seed "$seed" --seeds "$piece" || status=1
    say "seeds $seed to $((seed + piece - 1)) of $focus"
  done
done
exit "$status"
