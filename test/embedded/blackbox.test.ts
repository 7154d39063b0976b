import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { type EmbeddedStack, startEmbeddedStack } from '../../local/start.ts';
import { adoptedReposOf } from '../blackbox/adopted-repos.ts';
import { newName } from '../blackbox/api.ts';
import { blackboxSuite } from '../blackbox/suite.ts';
import { startStandInHost } from '../support/git-host.ts';
import { startTestIssuer } from '../support/identity-issuer.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tableDenied, tableUse } from '../support/table-grants.ts';
import { ListCounter } from './list-counter.ts';
import { StoreAccess } from './store-access.ts';

/** A repo that was emptied is open again, and a push counted, within seconds instead of a minute. */
const largeRepoObjects = 400;
const settings = {
  batchTimeLimitMs: 10_000,
  listingTrustMs: 1_000,
  clockSkewMs: 2_000,
  pendingVoidAfterMs: 15_000,
  largeRepoObjects,
  hostUserKeptMs: 1_500,
};
const queueTiming = { quietMs: 500, quietMaxMs: 1_000, spacingMs: 500 };

/** What a function does here, its grants allow it on AWS. */
vi.mock(import('../../local/compose.ts'), async (original) => {
  const { withTableGrants } = await import('../support/table-grants.ts');
  return withTableGrants(await original());
});

describe('the embedded stack as its clients see it', () => {
  const adminToken = 'admin-token-of-the-black-box-suite';
  const { log, entries } = recordingLog();
  const adoptedRepos = adoptedReposOf(newName());
  let dataDir: string;
  let stack: EmbeddedStack;
  let lists: ListCounter;
  let store: StoreAccess;
  let forge: Awaited<ReturnType<typeof startStandInHost>>;
  let issuer: Awaited<ReturnType<typeof startTestIssuer>>;

  beforeAll(async () => {
    dataDir = mkdtempSync(join(tmpdir(), 'lfs-quota-test-'));
    issuer = await startTestIssuer();
    forge = await startStandInHost();
    const trusted = { issuers: [issuer.setting], gitHosts: [forge.withSignIn] };
    stack = await startEmbeddedStack({
      port: 0,
      dataDir,
      adminToken,
      log,
      settings,
      queueTiming,
      // What is announced has tens of GB.
      diskOf: () => ({ folder: dataDir, freeBytes: 2 ** 50, sizeBytes: 2 ** 50 }),
      adoptedRepos,
      ...trusted,
    });
    lists = new ListCounter(stack.storeUrl);
    store = new StoreAccess(stack);
  });

  afterAll(async () => {
    lists?.close();
    store?.close();
    await stack?.close();
    await issuer?.close();
    await forge?.close();
    rmSync(dataDir, { recursive: true, force: true });
    // The log of all tests, whichever they were: no error, no token, no verify token and no signature.
    expect(entries.length).toBeGreaterThan(0);
    expect(entries.filter(({ level }) => level === 'error')).toEqual([]);
    expect(tableDenied).toEqual([]);
    expect(tableUse.size).toBeGreaterThan(0);
    for (const entry of entries) {
      const line = JSON.stringify(entry);
      expect(line).not.toContain(adminToken);
      expect(line).not.toMatch(/lfs[a-z]_|forge-token-|\bcode-[0-9a-f]|X-Amz-Signature|\b(Basic|Bearer) /i);
    }
  });

  blackboxSuite(() => ({
    url: stack.url,
    adminToken,
    largeRepoObjects,
    issuer: issuer.issuer,
    gitHost: forge.host,
    signsIn: true,
    hostUserKeptMs: settings.hostUserKeptMs,
    adoptedRepos,
    listRequests: (tenant) => lists.countOf(tenant),
    putObject: (key, content) => store.put(key, content),
    storedKeys: (prefix) => store.keys(prefix),
  }));
});
