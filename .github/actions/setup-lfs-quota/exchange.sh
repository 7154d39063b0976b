#!/usr/bin/env bash
# Exchanges the identity of a job of GitHub Actions for a token of lfs-quota, and gives it to Git in this clone alone.
#
# LFS_QUOTA_SERVER is the server's URL, LFS_QUOTA_TENANT the tenant. It needs curl, jq and Git 2.31.
set -euo pipefail

# A line break in what the server says would begin a command of the runner.
fail() {
  local text="${1//'%'/'%25'}"
  text="${text//$'\r'/'%0D'}"
  echo "::error::${text//$'\n'/'%0A'}"
  exit 1
}

server="${LFS_QUOTA_SERVER%/}"
[ -n "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ] || fail 'Give the job the permission "id-token: write".'
git rev-parse --git-dir >/dev/null 2>&1 || fail 'There is no clone here. Run actions/checkout first, or set "path".'

# Secrets reach curl and jq by standard input and the environment, since everybody sees a command's arguments.
identity="$(printf 'header = "Authorization: Bearer %s"\n' "$ACTIONS_ID_TOKEN_REQUEST_TOKEN" |
  curl -K - -fsS --retry 3 --get --data-urlencode "audience=$server/$LFS_QUOTA_TENANT" "$ACTIONS_ID_TOKEN_REQUEST_URL" |
  jq -er .value)" || fail 'GitHub gave this job no identity token.'
echo "::add-mask::$identity"

answer="$(IDENTITY="$identity" jq -n '{idToken: env.IDENTITY}' |
  curl -sS --retry 3 -H 'Content-Type: application/json' --data-binary @- \
    "$server/v1/tenants/$LFS_QUOTA_TENANT/exchange")" || fail "$server doesn't answer."
if ! token="$(jq -er .token <<<"$answer" 2>/dev/null)"; then
  fail "$(jq -r '.detail // empty' <<<"$answer" 2>/dev/null || true) See which rules apply: lfs-quota rule list $LFS_QUOTA_TENANT"
fi
[[ "$token" =~ ^lfsq_[[:alnum:]]+$ ]] || fail "The response of $server has no token of lfs-quota."
echo "::add-mask::$token"

# Later steps find it in the configuration of this clone. Other helpers are not asked, and get nothing to store.
helper="credential.$server.helper"
git config --local --replace-all "$helper" ''
git config --local --add "$helper" '!f() { [ "$1" = get ] && echo username=ci && echo "password=$(git config lfs-quota.token)"; }; f'
git config --local lfs-quota.token "$token"
echo "expires-at=$(jq -r .expiresAt <<<"$answer" | tr -d '\r\n')" >>"$GITHUB_OUTPUT"
