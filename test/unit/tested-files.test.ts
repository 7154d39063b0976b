import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { reachedFrom, sources } from './import-graph.ts';

/** Folders in which every file must be tested. */
const folders = ['lambda/domain', 'lambda/events', 'lambda/http', 'lambda/runtime', 'lambda/use-cases'];

/**
 * The test of `lambda/x/y.ts` is `test/unit/lambda/x/y.test.ts`. Some files have none, because a suite with another
 * name covers them: suite → files. A new file needs its own test or a line here.
 */
const coveredBy: Readonly<Record<string, readonly string[]>> = {
  // The protocol of docs/ledger.md, with faults, many clients and mutants.
  'test/simulation/simulation.test.ts': [
    'lambda/use-cases/map-limited.ts',
    'lambda/use-cases/uploads/batch-attempt.ts',
  ],
  // A clean-up from its opening to its end.
  'test/unit/lambda/use-cases/cleanup/cleanup.test.ts': [
    'lambda/domain/cleanup/cleanup-keys.ts',
    'lambda/use-cases/cleanup/cancel-cleanup.ts',
    'lambda/use-cases/cleanup/cleanup-deps.ts',
    'lambda/use-cases/cleanup/open-cleanup.ts',
    'lambda/use-cases/cleanup/put-cleanup.ts',
    'lambda/use-cases/cleanup/read-cleanup.ts',
    'lambda/use-cases/cleanup/read-seen.ts',
    'lambda/use-cases/cleanup/start-run.ts',
    'lambda/use-cases/cleanup/tidy-cleanup.ts',
  ],
  // What the API answers (test/blackbox), on the embedded stack.
  'test/unit/lambda/http/management/presented.test.ts': ['lambda/http/management/session-cookie.ts'],
  'test/embedded/blackbox.test.ts': [
    'lambda/use-cases/uploading-repos.ts',
    'lambda/http/json.ts',
    'lambda/http/lfs/batch-response.ts',
    'lambda/http/lfs/body.ts',
    'lambda/http/lfs/locks/bodies.ts',
    'lambda/http/lfs/locks/operations.ts',
    'lambda/http/lfs/locks/schemas.ts',
    'lambda/http/lfs/respond.ts',
    'lambda/http/lfs/schemas.ts',
    'lambda/http/lfs/verify-token.ts',
    'lambda/http/management/audit/bodies.ts',
    'lambda/http/management/audit/operations.ts',
    'lambda/http/management/audit/requests.ts',
    'lambda/http/management/audit/schemas.ts',
    'lambda/http/management/cursor.ts',
    'lambda/http/management/cleanups/bodies.ts',
    'lambda/http/management/cleanups/operations.ts',
    'lambda/http/management/cleanups/requests.ts',
    'lambda/http/management/cleanups/schemas.ts',
    'lambda/http/management/counts/bodies.ts',
    'lambda/http/management/counts/operations.ts',
    'lambda/http/management/counts/requests.ts',
    'lambda/http/management/counts/schemas.ts',
    'lambda/http/management/deletes/bodies.ts',
    'lambda/http/management/deletes/operations.ts',
    'lambda/http/management/deletes/requests.ts',
    'lambda/http/management/deletes/schemas.ts',
    'lambda/http/management/downloads/operations.ts',
    'lambda/http/management/downloads/requests.ts',
    'lambda/http/management/downloads/schemas.ts',
    'lambda/http/lfs/download-limit-message.ts',
    'lambda/http/management/exchange/bodies.ts',
    'lambda/http/management/exchange/operations.ts',
    'lambda/http/management/exchange/requests.ts',
    'lambda/http/management/exchange/schemas.ts',
    'lambda/http/management/sessions/bodies.ts',
    'lambda/http/management/sessions/operations.ts',
    'lambda/http/management/sessions/schemas.ts',
    'lambda/http/management/exports/operations.ts',
    'lambda/http/management/exports/requests.ts',
    'lambda/http/management/exports/schemas.ts',
    'lambda/http/management/history/bodies.ts',
    'lambda/http/management/history/operations.ts',
    'lambda/http/management/history/requests.ts',
    'lambda/http/management/history/schemas.ts',
    'lambda/http/management/locks/bodies.ts',
    'lambda/http/management/locks/operations.ts',
    'lambda/http/management/locks/requests.ts',
    'lambda/http/management/locks/schemas.ts',
    'lambda/http/management/objects/operations.ts',
    'lambda/http/management/objects/requests.ts',
    'lambda/http/management/objects/schemas.ts',
    'lambda/http/management/repos/operations.ts',
    'lambda/http/management/repos/page.ts',
    'lambda/http/management/repos/requests.ts',
    'lambda/http/management/repos/schemas.ts',
    'lambda/http/management/reservations/bodies.ts',
    'lambda/http/management/reservations/operations.ts',
    'lambda/http/management/reservations/requests.ts',
    'lambda/http/management/reservations/schemas.ts',
    'lambda/http/management/tenants/bodies.ts',
    'lambda/http/management/status/bodies.ts',
    'lambda/http/management/status/operations.ts',
    'lambda/http/management/status/schemas.ts',
    'lambda/http/management/tenants/operations.ts',
    'lambda/http/management/tenants/requests.ts',
    'lambda/http/management/tenants/schemas.ts',
    'lambda/http/management/tokens/bodies.ts',
    'lambda/http/management/tokens/operations.ts',
    'lambda/http/management/tokens/requests.ts',
    'lambda/http/management/tokens/schemas.ts',
    'lambda/http/management/webhooks/bodies.ts',
    'lambda/http/management/webhooks/operations.ts',
    'lambda/http/management/webhooks/requests.ts',
    'lambda/http/management/webhooks/schemas.ts',
    'lambda/http/management/fields.ts',
    'lambda/http/management/queries.ts',
    'lambda/http/management/idempotency.ts',
    'lambda/http/problems.ts',
    'lambda/http/respond.ts',
    'lambda/use-cases/access/request-key.ts',
    'lambda/use-cases/list-tenant.ts',
  ],
  'test/unit/lambda/use-cases/downloads/offer-download.test.ts': [
    'lambda/use-cases/downloads/meter-offer.ts',
  ],
  'test/unit/lambda/http/lfs/access.test.ts': ['lambda/http/lfs/read-only-message.ts'],
  'test/unit/lambda/domain/issuers-json.test.ts': ['lambda/domain/identity-issuer.ts'],
  'test/unit/lambda/use-cases/recounts/first-count.test.ts': ['lambda/use-cases/recounts/shard-scanner.ts'],
  'test/unit/lambda/use-cases/uploads/refusal.test.ts': ['lambda/http/lfs/over-limit-message.ts'],
  'test/unit/lambda/use-cases/uploads/failing-queue.test.ts': ['lambda/use-cases/recounts/request-or-log.ts'],
  'test/unit/lambda/use-cases/exports/start-export.test.ts': ['lambda/use-cases/exports/advance-or-log.ts'],
  'test/unit/lambda/http/management/exports.test.ts': [
    'lambda/http/management/exports/access.ts',
    'lambda/http/management/exports/bodies.ts',
  ],
  'test/unit/lambda/http/management/repos.test.ts': ['lambda/http/management/repos/bodies.ts'],
  // The page is compared with what the code describes. The API lane sends requests made from it.
  'test/unit/docs/api-page.test.ts': [
    'lambda/http/openapi/document.ts',
    'lambda/http/openapi/lfs-operations.ts',
    'lambda/http/openapi/lock-operations.ts',
    'lambda/http/management/audit/docs.ts',
    'lambda/http/management/cleanups/docs.ts',
    'lambda/http/management/counts/docs.ts',
    'lambda/http/management/deletes/docs.ts',
    'lambda/http/management/downloads/docs.ts',
    'lambda/http/management/exchange/docs.ts',
    'lambda/http/management/exports/docs.ts',
    'lambda/http/management/history/docs.ts',
    'lambda/http/management/locks/docs.ts',
    'lambda/http/management/objects/docs.ts',
    'lambda/http/management/repos/docs.ts',
    'lambda/http/management/reservations/docs.ts',
    'lambda/http/management/status/docs.ts',
    'lambda/http/management/tenants/docs.ts',
    'lambda/http/management/sessions/docs.ts',
    'lambda/http/management/tokens/docs.ts',
    'lambda/http/management/webhooks/docs.ts',
    'lambda/http/operation-docs.ts',
    'lambda/http/openapi/service-operations.ts',
    'lambda/http/problem-schema.ts',
  ],
  'test/unit/lambda/http/access.test.ts': [
    'lambda/http/management/access.ts',
    'lambda/use-cases/access/note-token-use.ts',
  ],
  'test/unit/local/http/front.test.ts': ['lambda/http/route-match.ts'],
  'test/unit/lambda/handlers/reconcile.test.ts': [
    'lambda/events/recount-message.ts',
    'lambda/runtime/delay-redelivery.ts',
  ],
  'test/unit/lambda/handlers/send-webhook.test.ts': ['lambda/events/webhook-message.ts'],
  'test/unit/lambda/use-cases/warnings/deliver-to-webhook.test.ts': [
    'lambda/use-cases/warnings/set-webhook.ts',
  ],
  'test/unit/lambda/use-cases/warnings/note-level.test.ts': ['lambda/use-cases/recounts/note-outcome.ts'],
  'test/unit/lambda/handlers/store-events.test.ts': ['lambda/events/store-event.ts'],
  'test/unit/lambda/adapters/system/invocation-log.test.ts': ['lambda/runtime/with-invocation.ts'],
  // Exports from their record to their archive, in memory, with kills at every call.
  'test/unit/lambda/use-cases/exports/run-step.test.ts': [
    'lambda/domain/export/export-keys.ts',
    'lambda/domain/export/formats.ts',
    'lambda/domain/export/work-order.ts',
    'lambda/use-cases/exports/json-file.ts',
    'lambda/use-cases/exports/plan-archives.ts',
    'lambda/use-cases/exports/plan-hashing.ts',
    'lambda/use-cases/exports/write-orders.ts',
  ],
  // The archives that plans make, in memory, on a store that refuses what a real one would.
  'test/unit/lambda/domain/export/plan-export.test.ts': [
    'lambda/domain/export/byte-range.ts',
    'lambda/domain/export/free-parts.ts',
    'lambda/domain/export/part.ts',
    'lambda/domain/export/plan-figures.ts',
    'lambda/domain/export/plan-settings.ts',
    'lambda/domain/export/plan-volume.ts',
    'lambda/domain/export/store-limits.ts',
    'lambda/domain/export/stream-parts.ts',
    'lambda/domain/export/volumes.ts',
  ],
  'test/unit/lambda/domain/export/segments.test.ts': [
    'lambda/domain/export/layout.ts',
    'lambda/domain/export/literal-content.ts',
    'lambda/domain/export/manifest.ts',
  ],
  'test/unit/lambda/domain/export/tar-format.test.ts': ['lambda/domain/export/tar-header.ts'],
  'test/unit/lambda/domain/export/zip-format.test.ts': ['lambda/domain/export/zip-records.ts'],
  'test/unit/lambda/domain/export/free-order.test.ts': ['lambda/domain/export/free-bound.ts'],
  'test/unit/lambda/domain/export/explain.test.ts': ['lambda/domain/export/explain-text.ts'],
  'test/unit/lambda/domain/scan/scan-plan.test.ts': ['lambda/domain/scan/estimate.ts'],
  'test/unit/lambda/use-cases/scan/path-scan.test.ts': [
    'lambda/domain/scan/lanes.ts',
    'lambda/domain/scan/page-size.ts',
    'lambda/domain/scan/strategy.ts',
    'lambda/use-cases/scan/read-page.ts',
    'lambda/use-cases/scan/recent-names.ts',
  ],
  'test/unit/lambda/use-cases/metrics.test.ts': [
    'lambda/use-cases/recounts/report-reconcile.ts',
    'lambda/use-cases/uploads/report-admission.ts',
  ],
  'test/unit/lambda/use-cases/deletes/delete-object.test.ts': ['lambda/use-cases/deletes/delete-objects.ts'],
  'test/unit/lambda/use-cases/deletes/delete-repo.test.ts': ['lambda/use-cases/all-pages.ts'],
};

/** Files that hold nothing but types. */
const typesOnly: readonly string[] = [
  'lambda/domain/export/archive-format.ts',
  'lambda/domain/scan/page-task.ts',
  'lambda/use-cases/deps.ts',
];

const root = path.join(import.meta.dirname, '../..');
const ownTestOf = (file: string) => `test/unit/${file.replace(/\.ts$/, '.test.ts')}`;
const listed = Object.entries(coveredBy).flatMap(([suite, files]) => files.map((file) => ({ suite, file })));

describe('every file that decides something is tested', () => {
  it('by a test of its name, or by a suite in the table', () => {
    const known = new Set([...typesOnly, ...listed.map(({ file }) => file)]);
    const files = [...sources.keys()].filter((file) =>
      folders.some((folder) => file.startsWith(`${folder}/`)),
    );
    expect(files.filter((file) => !known.has(file) && !sources.has(ownTestOf(file)))).toEqual([]);
  });

  it('by one of them, not both', () => {
    const names = [...typesOnly, ...listed.map(({ file }) => file)];
    expect(names.filter((file) => !sources.has(file) || sources.has(ownTestOf(file)))).toEqual([]);
    expect(names.filter((file, index) => names.indexOf(file) !== index)).toEqual([]);
  });

  it('by a suite that imports it, directly or not', () => {
    const wrong = Object.keys(coveredBy).flatMap((suite) => {
      const reached = reachedFrom([suite]);
      return listed.filter((line) => line.suite === suite && !reached.has(line.file));
    });
    expect(wrong).toEqual([]);
  });
});

it('test/unit has the folders of the sources', () => {
  const tests = [...sources.keys()].filter((file) => /^test\/unit\/.*\/.*\.test\.ts$/.test(file));
  const folderOf = (file: string) => path.posix.dirname(file).slice('test/unit/'.length);
  expect(tests.filter((file) => !existsSync(path.join(root, folderOf(file))))).toEqual([]);
});
