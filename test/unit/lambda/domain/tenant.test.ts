import { describe, expect, it } from 'vitest';
import {
  dirtyTokenOf,
  floorBytes,
  isChangeUnknown,
  isGone,
  isThere,
  overtakenEpochOf,
  repoFloorBytes,
  type TenantRecord,
  unknownRepo,
} from '../../../../lambda/domain/tenant.ts';
import { tenantRecord } from '../../../support/tenant-record.ts';

const counted = { storedBytes: 0, objectCount: 0, countedAtMs: 11 };
const tenant = tenantRecord({
  floorBaseBytes: 50,
  floorUntilMs: 1000,
  deletedBytes: 20,
  counted,
  closedAtMs: 10,
});

describe('a floor', () => {
  it('is what was found, without everything that was deleted since, and never negative', () => {
    expect(floorBytes(tenant, 999)).toBe(30);
    expect(floorBytes({ ...tenant, deletedBytes: 60 }, 0)).toBe(0);
  });

  it('proves nothing from the moment it expires, nor in a tenant that was never counted', () => {
    expect(floorBytes(tenant, 1000)).toBeUndefined();
    expect(floorBytes({ ...tenant, counted: null }, 0)).toBeUndefined();
  });
});

describe('the floor of a repo that has a limit', () => {
  const counted = { committedBytes: 90, storedBytes: 80, floorBaseBytes: 70, floorUntilMs: 500 };
  const floorAt = (nowMs: number, counts: typeof counted | null = counted) =>
    repoFloorBytes(tenant, { limit: { limitBytes: 100, counted: counts }, nowMs });

  it('is what was found in it, without everything that was deleted since from its tenant, until it expires', () => {
    expect([floorAt(499), floorAt(500)]).toEqual([50, undefined]);
  });

  it('proves nothing until it is counted', () => {
    expect(floorAt(499, null)).toBeUndefined();
  });
});

describe('a repo', () => {
  const unknown = unknownRepo('app');

  it('that no scan has counted has nothing, and is open', () => {
    expect(unknown).toEqual({
      repo: 'app',
      storedBytes: 0,
      objectCount: 0,
      countedAtMs: 0,
      epoch: 0,
      putsUntilMs: 0,
      dirtyToken: null,
      covered: new Set(),
      closedAtMs: null,
    });
  });

  it('is there if somebody created it, or a scan found an object', () => {
    expect(isThere(unknown)).toBe(false);
    expect(isThere({ ...unknown, createdAtMs: 0 })).toBe(true);
    expect(isThere({ ...unknown, epoch: 1, objectCount: 1 })).toBe(true);
    expect(isThere({ ...unknown, epoch: 1 })).toBe(false);
    expect(isThere({ ...unknown, objectCount: 1 })).toBe(false);
  });
});

describe('the newest epoch that may still write', () => {
  it('is the last one, if it was not applied', () => {
    expect(overtakenEpochOf({ ...tenant, epoch: 7, appliedEpoch: 6, overtakenEpoch: 3 })).toBe(7);
  });

  it('is the one that was overtaken before, if the last one was applied', () => {
    expect(overtakenEpochOf({ ...tenant, epoch: 7, appliedEpoch: 7, overtakenEpoch: 3 })).toBe(3);
  });
});

describe('a closed tenant', () => {
  it('is gone when a count that began after its closing found nothing, and nothing is promised', () => {
    expect(isGone(tenant)).toBe(true);
  });

  it.each<[string, Partial<TenantRecord>]>([
    ['it is open', { closedAtMs: null }],
    ['it was never counted', { counted: null }],
    ['its count began with its closing', { closedAtMs: 11 }],
    ['an object is left', { counted: { ...counted, objectCount: 1 } }],
    ['an upload is promised', { committedBytes: 1 }],
  ])('is not gone if %s', (_, change) => {
    expect(isGone({ ...tenant, ...change })).toBe(false);
  });
});

describe('what changed in a repo', () => {
  const random = 'removed'.repeat(2);

  it('is known if it was a delete that left a record of what it removed', () => {
    const dirtyToken = dirtyTokenOf({ random, isRecorded: true });
    expect(dirtyToken).toBe(`removed-${random}`);
    expect(isChangeUnknown({ dirtyToken })).toBe(false);
  });

  it('is unknown after any other delete', () => {
    const dirtyToken = dirtyTokenOf({ random, isRecorded: false });
    expect(dirtyToken).toBe(random);
    expect(isChangeUnknown({ dirtyToken })).toBe(true);
    expect(isChangeUnknown({ dirtyToken: 'is-removed-' })).toBe(true);
  });

  it('is nothing without a token', () => {
    expect(isChangeUnknown({ dirtyToken: null })).toBe(false);
  });
});
