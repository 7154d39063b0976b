#!/usr/bin/env bash
# What a change can break, in seconds: linter on what differs from where this branch began (or from BASE), type checker, and
# the fast tests that reach it.
#
#   .ci/changed.sh [BASE]
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
base="$(git merge-base HEAD "${1:-origin/main}" 2>/dev/null || git rev-parse HEAD)"
mapfile -t files < <(
  git diff --name-only --diff-filter=d "$base"
  git ls-files --others --exclude-standard
)
if [ ${#files[@]} -eq 0 ]; then
  printf 'nothing differs from %s\n' "$base" >&2
  exit 0
fi
npx biome check --error-on-warnings --no-errors-on-unmatched "${files[@]}"
npm run -s types
npx vitest run --project unit --changed "$base" --passWithNoTests
