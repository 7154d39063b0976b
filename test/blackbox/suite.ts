import { describe } from 'vitest';
import { accessTests } from './access.ts';
import { anythingTests } from './anything.ts';
import { Api } from './api.ts';
import { archiveTests } from './archives.ts';
import { auditTests } from './audit.ts';
import { batchObjectTests } from './batch-objects.ts';
import { batchRequestTests } from './batch-requests.ts';
import { cleanupTests } from './cleanups.ts';
import { countTests } from './counts.ts';
import { deleteTests, importedDeleteTests } from './deletes.ts';
import { downloadMeterTests } from './download-meter.ts';
import { downloadTests } from './downloads.ts';
import { exportTests } from './exports.ts';
import { historyTests } from './history.ts';
import { idempotencyTests } from './idempotency.ts';
import { limitTests } from './limits.ts';
import { lockTests } from './locks.ts';
import { objectTests } from './objects.ts';
import { otherRouteTests } from './other-routes.ts';
import { pathTests } from './paths.ts';
import { publicRepoTests } from './public-repos.ts';
import { repoTests } from './repos.ts';
import { reservationTests } from './reservations.ts';
import { scopeTests } from './scopes.ts';
import type { Target } from './target.ts';
import { tenantListTests } from './tenant-list.ts';
import { tenantTests } from './tenants.ts';
import { tokenExchangeTests } from './token-exchange.ts';
import { tokenTests } from './tokens.ts';
import { uploadTests } from './uploads.ts';
import { usageTests } from './usage.ts';
import { verifyTests } from './verify.ts';
import { webhookTests } from './webhooks.ts';

/**
 * What a client can see of a stack, whatever it runs on. Registers its tests where it is called; the target
 * is asked for once they run. Every tenant that it makes has a name of its own, so it can run beside others.
 */
export function blackboxSuite(target: () => Target): void {
  const api = () => new Api(target());
  const usage = usageTests(api);
  const importedDeletes = importedDeleteTests(api);
  describe('usage', usage.beforeCount);
  describe('delete of what was imported', importedDeletes.asked);
  describe('tenants', () => tenantTests(api));
  describe('list of tenants', () => tenantListTests(api));
  describe('tokens', () => tokenTests(api));
  tokenExchangeTests(api);
  describe('idempotency', () => idempotencyTests(api));
  describe('access', () => accessTests(api));
  scopeTests(api);
  describe('paths', () => pathTests(api));
  describe('other routes', () => otherRouteTests(api));
  describe('batch requests', () => batchRequestTests(api));
  describe('batch objects', () => batchObjectTests(api));
  describe('uploads', () => uploadTests(api));
  describe('verify', () => verifyTests(api));
  describe('objects', () => objectTests(api));
  describe('downloads', () => downloadTests(api));
  downloadMeterTests(api);
  publicRepoTests(api);
  auditTests(api);
  historyTests(api);
  webhookTests(api);
  describe('reservations', () => reservationTests(api));
  describe('limits', () => limitTests(api));
  repoTests(api);
  describe('locks', () => lockTests(api));
  describe('exports', () => exportTests(api));
  archiveTests(api);
  describe('clean-ups', () => cleanupTests(api));
  describe('deletes', () => deleteTests(api));
  describe('anything', () => anythingTests(api));
  countTests(api);
  describe('usage', usage.onceCounted);
  describe('delete of what was imported', importedDeletes.onceDone);
}
