#!/usr/bin/env bash
# The black-box suite against `lfs-quota serve` with its table in DynamoDB Local and its objects in versitygw. Run it by
# .ci/engines.sh run -- .ci/served.sh
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=.ci/lib.sh
. .ci/lib.sh

data="$(mktemp -d)"
port="$(free_port)"
export AWS_ACCESS_KEY_ID="$ENGINE_S3_ACCESS_KEY" AWS_SECRET_ACCESS_KEY="$ENGINE_S3_SECRET_KEY" AWS_REGION=us-east-1
export LFS_QUOTA_ADMIN_TOKEN=admin-token-of-the-served-suite-0123456789
# As LIST requests of such a store cost money, a tenant's reconciles begin a minute apart.
export SERVE_SCANNED_WITHIN_MS=120000
export SERVE_URL="http://127.0.0.1:$port" SERVE_ADMIN_TOKEN="$LFS_QUOTA_ADMIN_TOKEN"

node --input-type=module -e '
  const { CreateBucketCommand, S3Client } = await import("@aws-sdk/client-s3");
  const s3 = new S3Client({ endpoint: process.env.ENGINE_S3_URL, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: "served" }));'
node --import tsx cli/main.ts serve --listen "127.0.0.1:$port" --data "$data" --public-url "$SERVE_URL" --rate 0 \
  --store "$ENGINE_S3_URL" --bucket served --table-url "$ENGINE_DYNAMODB_URL" >"$data.log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; wait "$server" || true; rm -rf "$data" "$data.log"' EXIT
wait_for_port "$port" "$server" 120 || {
  tail -n 40 "$data.log" >&2
  die 'the server did not start'
}
npm run -s test:image
