#!/usr/bin/env bash
# What takes longer than anybody waits: NIGHTLY_SEEDS (20,000) scenarios of the simulator, in all its focuses, then the tests
# with random cases, the checkout without each subject, a server that is killed 200 times, one that works for a day of
# SOAK_REQUESTS (864,000), the black-box suite on one whose table and objects are elsewhere, all engines, clients other than
# git-lfs, all that people do with git-lfs by a current one, the console in all looks, the deployed stack with the whole
# black-box suite, and other requests to the API.
# Each day has other seeds. Each violation is printed with the command that repeats it. Then it goes on, and fails at the end.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

seeds="${NIGHTLY_SEEDS:-20000}"
focuses=(everything slow large-repos adopted files chunks)
piece=1000
# A day has 100,000 seeds. The same day has the same ones.
first=$((300000000 + $(date +%s) / 86400 % 10000 * 100000))

# simulated SEED FOCUS: a piece of them.
simulated() {
  local status=0
  npm run -s simulate -- --focus "$2" --seed "$1" --seeds "$piece" || status=1
  say "seeds $1 to $(($1 + piece - 1)) of $2"
  return "$status"
}

export -f simulated say
export piece
status=0
for ((seed = first; seed < first + seeds / ${#focuses[@]}; seed += piece)); do
  printf "$seed %s\n" "${focuses[@]}"
done | xargs -n 2 -P "$(nproc)" bash -c 'simulated "$@"' simulated || status=1
TZ=Asia/Kathmandu NIGHTLY=true FC_SEED="$first" npx vitest run --project unit --project long || status=1
npm run -s without -- --all || status=1
for name in kills subjects/files/kills soak; do
  NIGHTLY=true npx vitest run --project embedded "test/embedded/$name.test.ts" || status=1
done
{ .ci/engines.sh install && .ci/engines.sh run -- .ci/served.sh; } || status=1
{ .ci/engines.sh install && .ci/engines.sh run -- npm run -s test:engines; } || status=1
{ ENGINE_S3=seaweedfs .ci/engines.sh install &&
  ENGINE_S3=seaweedfs .ci/engines.sh run -- npm run -s test:engines -- test/engines/subjects/files; } || status=1
{ .ci/clients.sh install && .ci/clients.sh run -- npm run -s test:clients; } || status=1
{ .ci/git-lfs.sh install && NIGHTLY=true .ci/git-lfs.sh run -- npm run -s test:e2e; } || status=1
{ .ci/examples.sh install && .ci/examples.sh run -- npm run -s test:console; } || status=1
{ .ci/deployed.sh install && .ci/deployed.sh run -- npm run -s test:deployed; } || status=1
{ .ci/api.sh install && API_CASES=12000 API_SEED="$first" .ci/api.sh run -- npm run -s test:api; } || status=1
exit "$status"
