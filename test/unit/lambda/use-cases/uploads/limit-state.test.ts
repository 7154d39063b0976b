import { describe, expect, it } from 'vitest';
import type { TenantRecord } from '../../../../../lambda/domain/tenant.ts';
import { fitsBeside, limitsOf } from '../../../../../lambda/use-cases/uploads/limit-state.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const counted = { storedBytes: 40, objectCount: 1, countedAtMs: 1 };
const floor = { floorBaseBytes: 45, floorUntilMs: 10, deletedBytes: 5 };
const known = { counted, ...floor, committedBytes: 60 };
const ofRepo = { committedBytes: 20, storedBytes: 10, floorBaseBytes: 18, floorUntilMs: 7 };
const limited = (found: typeof ofRepo | null = ofRepo) =>
  new Map([['app', { limitBytes: 30, counted: found }]]);

const limits = (record: Partial<TenantRecord>, more: { repo?: string; nowMs?: number } = {}) =>
  limitsOf(tenantRecord(record), { repo: 'app', nowMs: 5, ...more });

describe('the limits of a batch', () => {
  it('are that of its tenant alone if its repo has none', () => {
    const ofTenant = { repo: null, limitBytes: 100, provenBytes: 40, countedBytes: 40, committedBytes: 60 };
    expect(limits(known)).toEqual([ofTenant]);
    expect(limits({ ...known, repoLimits: limited() }, { repo: 'web' })).toEqual([ofTenant]);
  });

  it('are that of its repo, too, with what is known of the repo', () => {
    const [, limit] = limits({ ...known, repoLimits: limited() });
    expect(limit).toEqual({
      repo: 'app',
      limitBytes: 30,
      // What was deleted in the tenant since it was counted may have been in the repo.
      provenBytes: 13,
      countedBytes: 10,
      committedBytes: 20,
    });
  });

  it('prove nothing once their floors are over, each in its time', () => {
    const proven = (nowMs: number) =>
      limits({ ...known, repoLimits: limited() }, { nowMs }).map(({ provenBytes }) => provenBytes);
    expect(proven(6)).toEqual([40, 13]);
    expect(proven(7)).toEqual([40, undefined]);
    expect(proven(10)).toEqual([undefined, undefined]);
  });

  it('know nothing of what was not counted', () => {
    const [ofTenant, limit] = limits({ counted: null, repoLimits: limited(null) });
    const unknown = { provenBytes: undefined, countedBytes: 0, committedBytes: undefined };
    expect(ofTenant).toMatchObject(unknown);
    expect(limit).toMatchObject(unknown);
  });

  it('are 2^53 − 1 for a tenant without a limit, counted or not', () => {
    const unlimited = { limitBytes: null, committedBytes: 7 };
    for (const of of [null, counted])
      expect(limits({ ...unlimited, counted: of })).toMatchObject([
        { limitBytes: Number.MAX_SAFE_INTEGER, committedBytes: 7 },
      ]);
  });
});

describe('so much more fits', () => {
  const fits = (record: Partial<TenantRecord>, bytes: number) => fitsBeside(limits(record), bytes);

  it('if it does below each limit', () => {
    expect([fits(known, 40), fits(known, 41)]).toEqual([true, false]);
    const both = { ...known, repoLimits: limited() };
    expect([fits(both, 10), fits(both, 11)]).toEqual([true, false]);
    expect(fits({ ...both, committedBytes: 95 }, 6)).toBe(false);
  });

  it('never if one of them was not counted', () => {
    expect(fits({ ...known, repoLimits: limited(null) }, 0)).toBe(false);
    expect(fits({ counted: null }, 0)).toBe(false);
  });
});
