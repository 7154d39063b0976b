import { describe, expect, it } from 'vitest';
import {
  type RepoRecord,
  type TenantRecord,
  unknownRepo,
} from '../../../../../lambda/core/ledger/rules/tenant.ts';
import { partsOfMany, reposBody } from '../../../../../lambda/frame/management/repos.ts';
import { shownReposMax, subscriptionBody } from '../../../../../lambda/frame/management/tenants.ts';
import { create } from '../../../../../lambda/functions/management.ts';
import { httpEvent, noContext } from '../../../../support/http-event.ts';
import { adminToken } from '../../../../support/memory/deps.ts';
import { MemoryStack, tenant } from '../../../../support/memory/stack.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

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

it('repos that are shown say what they stored 30 days ago, if a day before today is known', async () => {
  const points = [{ day: '2026-10-20', storedBytes: 4 }];
  const counted = { epoch: 1, scannedAtMs: Date.parse('2026-11-22T00:00:00Z'), objectCount: 1 };
  const bodies = reposBody(
    [
      { ...unknownRepo('a'), ...counted, points },
      { ...unknownRepo('b'), ...counted },
    ],
    {
      scanned: null,
      repoLimits: new Map(),
      fullScannedAtMs: 0,
      today: '2026-11-22',
      of: await partsOfMany([], { tenant: 'acme', in: 'page' }),
    },
  );
  expect(bodies.map(({ before }) => before)).toEqual([{ day: '2026-10-20', storedBytes: 4 }, undefined]);
});
