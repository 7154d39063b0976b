import { describe, expect, it } from 'vitest';
import { chargedForShards } from '../../../../../lambda/domain/giant/shard-charge.ts';

describe('LIST requests for shards', () => {
  const nowMs = Date.UTC(2027, 2, 10);
  const minute = 60_000;
  const charge = (before: Parameters<typeof chargedForShards>[1]['before'], requests: number) =>
    chargedForShards({ shardListsPerHour: 60 }, { before, requests, nowMs });

  it('are paid for at their rate, and added to those of the month', () => {
    const before = { shardsListedUntilMs: nowMs + minute, shardLists: { month: '2027-03', requests: 5 } };
    expect(charge(before, 2)).toEqual({
      shardsListedUntilMs: nowMs + 3 * minute,
      shardLists: { month: '2027-03', requests: 7 },
    });
    const february = { ...before, shardLists: { month: '2027-02', requests: 5 } };
    expect(charge(february, 2).shardLists).toEqual({ month: '2027-03', requests: 2 });
  });

  it('of a tenant that had none are counted from the first on', () => {
    expect(charge({}, 0)).toEqual({ shardsListedUntilMs: 0 });
    expect(charge({}, 1)).toEqual({
      shardsListedUntilMs: nowMs + minute,
      shardLists: { month: '2027-03', requests: 1 },
    });
    expect(charge({ shardLists: { month: '2027-03', requests: 5 } }, 0).shardLists?.requests).toBe(5);
  });
});
