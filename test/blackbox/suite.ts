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
 */
export function blackboxSuite(target: () => Target): void {
  const api = () => new Api(target());
  const usage = usageTests(api);
  const importedDeletes = importedDeleteTests(api);
  const adoptedRepos = adoptedRepoTests(api);
  describe('usage', usage.beforeCount);
  describe('delete of what was imported', importedDeletes.asked);
  describe('an adopted repo', adoptedRepos.served);
  describe('tenants', () => tenantTests(api));
  describe('lists', () => listTests(api));
  describe('tokens', () => tokenTests(api));
  describe('idempotency', () => idempotencyTests(api));
  describe('access', () => accessTests(api));
  limitedTokenTests(api);
  sessionTests(api);
  consoleTests(api);
  describe('paths', () => pathTests(api));
  describe('other routes', () => otherRouteTests(api));
  describe('batch requests', () => batchRequestTests(api));
  describe('batch objects', () => batchObjectTests(api));
  describe('uploads', () => uploadTests(api));
  describe('verify', () => verifyTests(api));
  describe('objects', () => objectTests(api));
  auditTests(api);
  describe('reservations', () => reservationTests(api));
  describe('limits', () => limitTests(api));
  repoTests(api);
  describe('deletes', () => deleteTests(api));
  for (const subject of Object.values(subjects)) subject.tests(api);
  describe('anything', () => anythingTests(api));
  scanTests(api);
  describe('usage', usage.onceScanned);
  describe('delete of what was imported', importedDeletes.onceDone);
  describe('an adopted repo', adoptedRepos.onceDeleted);
}
