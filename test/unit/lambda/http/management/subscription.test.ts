import { describe, expect, it } from 'vitest';
import { shownReposMax, subscriptionBody } from '../../../../../lambda/api/management/tenants.ts';
import type { RepoRecord, TenantRecord } from '../../../../../lambda/domain/tenant.ts';
import { unknownRepo } from '../../../../../lambda/domain/tenant.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const tenant: TenantRecord = tenantRecord({});
const repos = (count: number): RepoRecord[] =>
  Array.from({ length: count }, (_, index) => ({
    ...unknownRepo(`repo-${String(index).padStart(6, '0')}`),
    epoch: 1,
    countedAtMs: 1,
    objectCount: 1,
    // The smallest first.
    storedBytes: index + 1,
  }));
const bodyOf = (count: number) =>
  subscriptionBody(
    { tenant, repos: repos(count), publicReads: [], source: 'cache', refreshing: false },
    {
      forecast: { kind: 'none', reason: 'unlimited', bytesPerDay: null },
      lastRefusals: [],
      today: '2026-11-21',
    },
  );

describe('a subscription', () => {
  it('has all repos, if they are few', () => {
    const body = bodyOf(shownReposMax);
    expect(body.repos).toHaveLength(shownReposMax);
    expect(body).not.toHaveProperty('reposTruncated');
  });

  it('has the largest in the order of names, and what Lambda can return, if there are more', () => {
    const body = bodyOf(55_000);
    expect(body.reposTruncated).toBe(true);
    expect(body.repos).toHaveLength(shownReposMax);
    expect(body.repos[0]?.repo).toBe('repo-054000');
    expect(body.repos.at(-1)?.repo).toBe('repo-054999');
    expect(JSON.stringify(body).length).toBeLessThan(1_000_000);
  });
});
