import { describe } from 'vitest';
import { accessTests } from './access.ts';
import { adoptedRepoTests } from './adopted-repos.ts';
import { Api, type Target } from './api.ts';
import { auditTests } from './audit.ts';
import { batchObjectTests, batchRequestTests, pathTests } from './batches.ts';
import { deleteTests, importedDeleteTests } from './deletes.ts';
import { limitedTokenTests } from './limited-tokens.ts';
import { limitTests } from './limits.ts';
import { objectTests, repoTests } from './repos.ts';
import { reservationTests } from './reservations.ts';
import { anythingTests, consoleTests, otherRouteTests } from './routes.ts';
import * as subjects from './subjects.ts';
import { idempotencyTests, listTests, tenantTests } from './tenants.ts';
import { sessionTests, tokenTests } from './tokens.ts';
import { uploadTests, verifyTests } from './uploads.ts';
import { scanTests, usageTests } from './usage.ts';

/**
 * What a client can see of a stack, whatever it runs on. Registers its tests where it is called; the target
 * is asked for once they run. Every tenant that it makes has a name of its own, so it can run beside others.
 *
 * @param isTaken which of its parts, by their index. No part needs another one.
 */
export function blackboxSuite(target: () => Target, isTaken: (index: number) => boolean = () => true): void {
  const api = () => new Api(target());
  const usage = usageTests(api);
  const importedDeletes = importedDeleteTests(api);
  const adoptedRepos = adoptedRepoTests(api);
  /** What the first function begins takes a while, and the second one looks at it at the end. */
  const parts: readonly (readonly [begin: () => void, end?: () => void])[] = [
    [() => describe('usage', usage.beforeCount), () => describe('usage', usage.onceScanned)],
    [
      () => describe('delete of what was imported', importedDeletes.asked),
      () => describe('delete of what was imported', importedDeletes.onceDone),
    ],
    [
      () => describe('an adopted repo', adoptedRepos.served),
      () => describe('an adopted repo', adoptedRepos.onceDeleted),
    ],
    [() => describe('tenants', () => tenantTests(api))],
    [() => describe('lists', () => listTests(api))],
    [() => describe('tokens', () => tokenTests(api))],
    [() => describe('idempotency', () => idempotencyTests(api))],
    [() => describe('access', () => accessTests(api))],
    [() => limitedTokenTests(api)],
    [() => sessionTests(api)],
    [() => consoleTests(api)],
    [() => describe('paths', () => pathTests(api))],
    [() => describe('other routes', () => otherRouteTests(api))],
    [() => describe('batch requests', () => batchRequestTests(api))],
    [() => describe('batch objects', () => batchObjectTests(api))],
    [() => describe('uploads', () => uploadTests(api))],
    [() => describe('verify', () => verifyTests(api))],
    [() => describe('objects', () => objectTests(api))],
    [() => auditTests(api)],
    [() => describe('reservations', () => reservationTests(api))],
    [() => describe('limits', () => limitTests(api))],
    [() => repoTests(api)],
    [() => describe('deletes', () => deleteTests(api))],
    ...Object.entries(subjects).map(([name, { tests }]): [() => void] => [
      () => describe(name, () => tests(api)),
    ]),
    [() => describe('anything', () => anythingTests(api))],
    [() => scanTests(api)],
  ];
  const taken = parts.filter((_, index) => isTaken(index));
  for (const [begin] of taken) begin();
  for (const [, end] of taken) end?.();
}
