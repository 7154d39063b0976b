#!/bin/sh
# git-lfs-authenticate PATH OPERATION: gives who comes by SSH a token for half an hour.
# The host's own check of who may read or write which repository stands before this script, or in its place marked below.
set -eu
LC_ALL=C # or [a-z] can mean capitals too
. "${LFS_QUOTA_CONFIG:-/etc/lfs-quota.conf}" # sets url=https://lfs.example.com and token=lfsq_… (scope manage)
path=${1#/} && path=${path%.git}
# One tenant and one repo, or the token would be for another repository than the one that was checked.
case $path in
  */*/* | /* | */ | *..* | *[!A-Za-z0-9._/-]* | *.[Gg][Ii][Tt]) path= ;;
esac
tenant=${path%%/*} && repo=${path#*/}
case $tenant in
  "$path" | *[!a-z0-9-]*) echo "git-lfs-authenticate: the path is TENANT/REPO, not '$1'" >&2 && exit 1 ;;
esac
case ${2-} in
  download) scope=read ;;
  upload) scope=write ;;
  *) echo "git-lfs-authenticate: the operation is download or upload, not '${2-}'" >&2 && exit 1 ;;
esac
# Here: end with an error unless $USER_NAME may do that.
wish=$(jq -n --arg scope "$scope" --arg repo "$repo" --arg user "${USER_NAME:-$(id -un)}" \
  '{$scope, $user, repos: [$repo], label: "ssh", expiresInSeconds: 1800}')
# The token reaches curl by its standard input, since everybody sees a command's arguments.
made=$(printf 'header = "Authorization: Bearer %s"\n' "$token" |
  curl -fsS -K - --json "$wish" "$url/v1/tenants/$tenant/tokens")
printf %s "$made" | jq --arg href "$url/$tenant/$repo.git/info/lfs" \
  '{$href, header: {Authorization: ("Bearer " + .token)}, expires_in: 1800}'
