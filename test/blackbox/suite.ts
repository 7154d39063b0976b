import { describe } from 'vitest';
import { accessTests } from './access.ts';
import { adoptedRepoTests } from './adopted-repos.ts';
import { Api, type Target } from './api.ts';
import { auditTests } from './audit.ts';
import { batchObjectTests, batchRequestTests, pathTests } from './batches.ts';
import { deleteTests, importedDeleteTests } from './deletes.ts';
import { downloadMeterTests, downloadTests } from './downloads.ts';
import { archiveTests, exportTests } from './exports.ts';
import { gcTests } from './gc.ts';
import { gitHostTests } from './git-hosts.ts';
import { invitationTests } from './invitations.ts';
import { limitedTokenTests } from './limited-tokens.ts';
import { limitTests } from './limits.ts';
import { lockTests } from './locks.ts';
import { historyTests, statusTests, webhookTests } from './monitoring.ts';
import { publicRepoTests } from './public-repos.ts';
import { objectTests, repoTests } from './repos.ts';
import { reservationTests } from './reservations.ts';
import { anythingTests, consoleTests, otherRouteTests } from './routes.ts';
import { signInTests } from './sign-in.ts';
import { idempotencyTests, listTests, tenantTests } from './tenants.ts';
import { tokenExchangeTests } from './token-exchange.ts';
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
  tokenExchangeTests(api);
  invitationTests(api);
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
  describe('downloads', () => downloadTests(api));
  downloadMeterTests(api);
  publicRepoTests(api);
  gitHostTests(api);
  signInTests(api);
  auditTests(api);
  historyTests(api);
  webhookTests(api);
  describe('reservations', () => reservationTests(api));
  describe('status', () => statusTests(api));
  describe('limits', () => limitTests(api));
  repoTests(api);
  describe('locks', () => lockTests(api));
  describe('exports', () => exportTests(api));
  archiveTests(api);
  describe('gc runs', () => gcTests(api));
  describe('deletes', () => deleteTests(api));
  describe('anything', () => anythingTests(api));
  scanTests(api);
  describe('usage', usage.onceScanned);
  describe('delete of what was imported', importedDeletes.onceDone);
  describe('an adopted repo', adoptedRepos.onceDeleted);
}
