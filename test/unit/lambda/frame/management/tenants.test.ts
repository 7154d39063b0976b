import { describe, expect, it } from 'vitest';
import {
  type RepoRecord,
  type TenantRecord,
  unknownRepo,
} from '../../../../../lambda/core/ledger/rules/tenant.ts';
import type { Settings } from '../../../../../lambda/core/rules/settings.ts';
import { create as createSubscription } from '../../../../../lambda/frame/management/get-subscription.ts';
import { partsOfMany, reposBody } from '../../../../../lambda/frame/management/repos.ts';
import { shownReposMax, subscriptionBody } from '../../../../../lambda/frame/management/tenants.ts';
import { create, create as createManagement } from '../../../../../lambda/functions/management.ts';
import { publicRepoPart } from '../../../../../lambda/subjects/downloads/repo-parts.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken, memoryDeps, replacingDeps } from '../../../../support/memory/deps.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

it('the limit that a tenant has already ends neither its floor nor a reconcile that is running', async () => {
  const world = new MemoryStack();
  await world.create(100);
  const patch = async (body: unknown) => {
    const event = httpEvent({
      method: 'PATCH',
      path: `/v1/tenants/${tenant}`,
      routeKey: 'PATCH /v1/tenants/{tenant}',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      pathParameters: { tenant },
      body: JSON.stringify(body),
    });
    expect(await create(world.deps)(event, noContext)).toMatchObject({ statusCode: 200 });
    const { limitBytes, plan, epoch, confirmedUntilMs } = await world.record();
    return { limitBytes, plan, epoch, hasConfirmed: confirmedUntilMs > 0 };
  };
  const { epoch } = await world.record();
  const same = { limitBytes: 100, epoch, hasConfirmed: true };
  expect(await patch({ limitBytes: 100 })).toEqual({ ...same, plan: null });
  expect(await patch({ limitBytes: 100, plan: 'team' })).toEqual({ ...same, plan: 'team' });
  expect(await patch({ limitBytes: 101 })).toMatchObject({
    limitBytes: 101,
    epoch: epoch + 1,
    hasConfirmed: false,
  });
  expect(await patch({ limitBytes: null })).toMatchObject({ limitBytes: null, epoch: epoch + 2 });
  expect(await patch({ limitBytes: null })).toMatchObject({ epoch: epoch + 2 });
});

describe('subscription', () => {
  const tenant: TenantRecord = tenantRecord({});
  const repos = (count: number): RepoRecord[] =>
    Array.from({ length: count }, (_, index) => ({
      ...unknownRepo(`repo-${String(index).padStart(6, '0')}`),
      epoch: 1,
      scannedAtMs: 1,
      objectCount: 1,
      // The smallest first.
      storedBytes: index + 1,
    }));
  const bodyOf = (count: number) =>
    subscriptionBody(
      { tenant, repos: repos(count), source: 'cache', refreshing: false },
      { ofTenant: {}, ofRepo: () => undefined, today: '2026-11-21' },
    );

  describe('a subscription', () => {
    it('has all repos, if they are few', () => {
      const body = bodyOf(shownReposMax);
      expect(body.repos).toHaveLength(shownReposMax);
      expect(body).not.toHaveProperty('reposTruncated');
    });

    it('has the largest in the order of names, and what Lambda can return, if there are more', () => {
      const body = bodyOf(5_000);
      expect(body.reposTruncated).toBe(true);
      expect(body.repos).toHaveLength(shownReposMax);
      expect(body.repos[0]?.repo).toBe('repo-004000');
      expect(body.repos.at(-1)?.repo).toBe('repo-004999');
      expect(JSON.stringify(body).length).toBeLessThan(1_000_000);
    });
  });
});

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

  it('say what they stored 30 days ago, if a day before today is known', async () => {
    const points = [{ day: '2026-10-20', storedBytes: 4 }];
    const bodies = reposBody(
      [scanned('a', { points, scannedAtMs: Date.parse('2026-11-22T00:00:00Z') }), unknownRepo('b')],
      { ...uncounted, today: '2026-11-22', of: await publicly('b') },
    );
    expect(bodies.map(({ before }) => before)).toEqual([{ day: '2026-10-20', storedBytes: 4 }, undefined]);
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

describe('to map a repo to a git host', () => {
  const forge = { id: 'forge', kind: 'gitea', url: 'https://git.example.com' } as const;
  it.each([
    [[], 'gitHost.host: this server has no git hosts. The operator configures them (gitHosts).'],
    [[forge], 'gitHost.host: must be one of: forge.'],
  ])('is refused with the hosts that there are: %j', async (gitHosts, detail) => {
    const deps = memoryDeps({ gitHosts });
    await deps.ledger.createTenant({
      plan: null,
      limitBytes: null,
      createdAtMs: 1,
      dueAtMs: 1,
      tenant: 'acme',
      scanned: { storedBytes: 0, objectCount: 0, scannedAtMs: deps.clock.nowMs() },
    });
    const event = httpEvent({
      method: 'PATCH',
      routeKey: 'PATCH /v1/tenants/{tenant}/repos/{repo}',
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
      pathParameters: { tenant: 'acme', repo: 'game' },
      body: JSON.stringify({ gitHost: { host: 'github', repo: 'acme/game' } }),
    });
    const { statusCode, body } = await createManagement(deps)(event, noContext);
    expect([statusCode, JSON.parse(body ?? '')]).toMatchObject([422, { code: 'invalid-body', detail }]);
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
