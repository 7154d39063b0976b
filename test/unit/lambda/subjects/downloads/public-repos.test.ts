import { describe, expect, it } from 'vitest';
import { type RepoRecord, unknownRepo } from '../../../../../lambda/core/ledger/rules/tenant.ts';
import type { Settings } from '../../../../../lambda/core/rules/settings.ts';
import { create as createSubscription } from '../../../../../lambda/frame/management/get-subscription.ts';
import { partsOfMany, reposBody } from '../../../../../lambda/frame/management/repos.ts';
import { create as createManagement } from '../../../../../lambda/functions/management.ts';
import { publicRepoPart } from '../../../../../lambda/subjects/downloads/repo-parts.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken, memoryDeps, replacingDeps } from '../../../../support/memory/deps.ts';
import { updateTenant } from '../../../../support/over-settings.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const publicRead = (repo: string, monthlyLimitBytes: number | null = 5) => ({
  repo,
  monthlyLimitBytes,
  sinceMs: 1000,
});
const scanned = (repo: string, more: Partial<RepoRecord> = {}): RepoRecord => ({
  ...unknownRepo(repo),
  epoch: 1,
  storedBytes: 10,
  objectCount: 1,
  scannedAtMs: 2000,
  ...more,
});
const uncounted = { scanned: null, repoLimits: new Map(), fullScannedAtMs: 0 };
async function publicly(...names: string[]) {
  const deps = memoryDeps();
  for (const name of names) await deps.publicReads.put({ tenant: 'acme', mark: publicRead(name) });
  return partsOfMany([publicRepoPart(deps)], { tenant: 'acme', in: 'page' });
}
const shown = async (records: readonly RepoRecord[], ...names: string[]) =>
  reposBody(records, { ...uncounted, today: '1970-01-01', of: await publicly(...names) });

describe('the repos that are shown', () => {
  it('say which of them are public', async () => {
    expect(await shown([scanned('a'), scanned('b')], 'b', 'c')).toEqual([
      { repo: 'a', limitBytes: null, storedBytes: 10, objectCount: 1, scannedAt: '1970-01-01T00:00:02Z' },
      {
        repo: 'b',
        limitBytes: null,
        storedBytes: 10,
        objectCount: 1,
        scannedAt: '1970-01-01T00:00:02Z',
        publicRead: { monthlyLimitBytes: 5, since: '1970-01-01T00:00:01Z' },
      },
    ]);
  });

  it('are also empty ones that are public, and without numbers if they were never counted', async () => {
    const empty = scanned('a', { objectCount: 0, storedBytes: 0 });
    expect(await shown([empty, unknownRepo('b')])).toEqual([]);
    expect(await shown([empty, unknownRepo('b')], 'a', 'b')).toMatchObject([
      { repo: 'a', limitBytes: null, storedBytes: 0, objectCount: 0 },
      { repo: 'b', limitBytes: null, storedBytes: null, objectCount: null, scannedAt: null, publicRead: {} },
    ]);
  });

  it('are not public while they are deleted, nor after that', async () => {
    const [closed] = await shown([scanned('a', { closedAtMs: 3000 })], 'a');
    expect(closed).toMatchObject({ repo: 'a', deleting: true });
    expect(closed).not.toHaveProperty('publicRead');
    expect(await shown([scanned('a', { endedClosingMs: 3000, objectCount: 0 })], 'a')).toEqual([]);
  });

  it('stand in the subscription, with what is public', async () => {
    const deps = memoryDeps();
    const account = { plan: null, limitBytes: null, createdAtMs: 1, dueAtMs: 1 };
    const nowMs = deps.clock.nowMs();
    await deps.ledger.createTenant({
      ...account,
      tenant: 'acme',
      scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: nowMs },
    });
    await deps.ledger.markDirty({ tenant: 'acme', repo: 'game', dirtyToken: 't' });
    await deps.publicReads.put({ tenant: 'acme', mark: publicRead('game', null) });
    const event = httpEvent({
      method: 'GET',
      headers: { authorization: `Bearer ${adminToken}` },
      pathParameters: { tenant: 'acme' },
    });
    const { statusCode, body } = await createSubscription(deps)(event, noContext);
    expect([statusCode, JSON.parse(body ?? '').repos]).toMatchObject([
      200,
      [{ repo: 'game', limitBytes: null, storedBytes: null, publicRead: { monthlyLimitBytes: null } }],
    ]);
  });
});

describe('the monthly ceiling of a public repo', () => {
  const manage = `lfsq_${'m'.repeat(40)}`;
  const tebibyte = 1024 ** 4;

  async function world(downloadLimitBytes: number | null, settings: Partial<Settings> = {}) {
    const given = memoryDeps();
    const deps = replacingDeps(given, { settings: { ...given.settings, ...settings } });
    const account = { plan: null, limitBytes: null, createdAtMs: 1, scanned: null, dueAtMs: 1 };
    await deps.ledger.createTenant({ ...account, tenant: 'acme' });
    await updateTenant(deps.ledger, { tenant: 'acme', downloadLimitBytes });
    await deps.ledger.createRepo({ tenant: 'acme', repo: 'game', createdAtMs: 1 });
    await deps.tokens.put(tokenRecord(manage, { tenant: 'acme', scope: 'manage' }));
    return async (monthlyLimitBytes: number | null, token = manage) => {
      const event = httpEvent({
        method: 'PATCH',
        routeKey: 'PATCH /v1/tenants/{tenant}/repos/{repo}',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        pathParameters: { tenant: 'acme', repo: 'game' },
        body: JSON.stringify({ publicRead: { monthlyLimitBytes } }),
      });
      const { statusCode, body = '' } = await createManagement(deps)(event, noContext);
      return statusCode === 200 ? 200 : `${statusCode} ${JSON.parse(body).detail}`;
    };
  }

  it('of a tenant without a download limit is the stage’s at most, but for the operator', async () => {
    const set = await world(null);
    expect(await set(tebibyte)).toBe(200);
    const refused = '403 More than the maximum here (1 TiB a month) requires the admin token.';
    for (const bytes of [tebibyte + 1, Number.MAX_SAFE_INTEGER]) expect(await set(bytes)).toBe(refused);
    expect(await set(null)).toMatch(/^403 Unlimited public downloads/);
    for (const bytes of [Number.MAX_SAFE_INTEGER, null]) expect(await set(bytes, adminToken)).toBe(200);
  });

  it('is the lower one of that and the tenant’s download limit', async () => {
    const low = await world(5000, { publicMonthBytesMax: 10_000 });
    expect([await low(5000), await low(5001)]).toEqual([
      200,
      '403 More than the download limit of acme (4.88 KiB a month) requires the admin token.',
    ]);
    const high = await world(5000, { publicMonthBytesMax: 4000 });
    expect([await high(4000), await high(4001)]).toEqual([200, expect.stringContaining('the maximum here')]);
  });

  it('is the operator’s alone in a stage that says so', async () => {
    const set = await world(null, { publicMonthBytesMax: 0 });
    expect(await set(1)).toMatch(/^403 /);
    expect(await set(1, adminToken)).toBe(200);
  });
});
