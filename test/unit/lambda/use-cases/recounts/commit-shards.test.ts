import { beforeEach, describe, expect, it, vi } from 'vitest';
import { GiantCount } from '../../../../../lambda/domain/giant/giant-count.ts';
import type { Shard } from '../../../../../lambda/domain/giant/shard.ts';
import { unknownRepo } from '../../../../../lambda/domain/tenant.ts';
import { commitShards, tidyShards } from '../../../../../lambda/use-cases/recounts/commit-shards.ts';
import type { GiantOutcome } from '../../../../../lambda/use-cases/recounts/count-giant.ts';
import { SupersededError } from '../../../../../lambda/use-cases/recounts/lease.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { shardRecord } from '../../../../support/shard-record.ts';

const tenant = 'acme';
const epoch = 9;
const scan = {
  storedBytes: 1,
  objectCount: 1,
  countedAtMs: 2000,
  scanEndedMs: 2100,
  seen: new Set<string>(),
};

let ledger: MemoryLedger;
/** What was written, in order. */
let writes: string[];

beforeEach(async () => {
  ledger = new MemoryLedger();
  await ledger.createTenant({
    tenant,
    plan: null,
    limitBytes: null,
    createdAtMs: 0,
    counted: null,
    dueAtMs: 0,
  });
  writes = [];
  const { putShard, removeShard } = ledger;
  vi.spyOn(ledger, 'putShard').mockImplementation(async (input) => {
    writes.push(`put ${input.repo} ${input.shard.prefix}`);
    return putShard.call(ledger, input);
  });
  vi.spyOn(ledger, 'removeShard').mockImplementation(async (input) => {
    writes.push(`remove ${input.repo} ${input.prefix}`);
    return removeShard.call(ledger, input);
  });
});

async function store(repo: string, ...shards: Shard[]): Promise<void> {
  for (const shard of shards) await ledger.putShard({ tenant, repo, shard, epochRead: null });
  writes.length = 0;
}
const prefixes = async (repo: string) => {
  const all: string[] = [];
  for await (const page of ledger.shards({ tenant, repo })) all.push(...page.map(({ prefix }) => prefix));
  return all;
};

/** Of a giant with two shards. */
function outcomeOf(repo: string, change: (count: GiantCount) => void = () => {}): GiantOutcome {
  const shards = [shardRecord('0'), shardRecord('8')];
  const count = new GiantCount({ epoch, shards, runs: [], settings: { clockSkewMs: 1 } });
  change(count);
  const giant = { sinceEpoch: 1, recountFromMs: 0 };
  return { repo, count, giant, runs: [], dirtyTokenTaken: null } as Partial<GiantOutcome> as GiantOutcome;
}
const scanned = (count: GiantCount) => count.scanned('8', [scan]);
const split = (count: GiantCount) => count.scanned('0', Array(16).fill(scan));
const commit = (outcomes: GiantOutcome[], renewed: 'ours' | 'superseded' = 'ours') =>
  commitShards({ ledger }, { tenant, outcomes, lease: { renew: async () => renewed } });

describe('the shards of a reconcile', () => {
  beforeEach(async () => {
    for (const repo of ['app', 'web']) await store(repo, shardRecord('0'), shardRecord('8'));
  });

  it('tell how far a first count is, and take the token of a change that they know of', async () => {
    const progress = { beganMs: 1, atMs: 2, share: 0.5, objectCount: 3, listRequests: 4 };
    const giant = { sinceEpoch: 7, recountFromMs: 0 };
    const noted = vi.spyOn(ledger, 'noteProgress').mockResolvedValue();
    const cleared = vi.spyOn(ledger, 'clearDirty').mockResolvedValue();
    const outcome = outcomeOf('app');
    const scan = { storedBytes: 0, objectCount: 0, seen: new Set<string>() };
    await commit([
      { ...outcome, giant: { ...giant, progress }, scan },
      { ...outcome, giant, scan: undefined },
    ]);
    expect([noted.mock.calls, cleared.mock.calls]).toEqual([[], []]);
    await commit([{ ...outcome, giant: { ...giant, progress }, scan: undefined, dirtyTokenTaken: 'x' }]);
    expect(noted.mock.calls).toEqual([[{ tenant, repo: 'app', sinceEpoch: 7, progress }]]);
    expect(cleared.mock.calls).toEqual([[{ tenant, repo: 'app', dirtyToken: 'x' }]]);
  });

  it('are written if they have changed', async () => {
    expect(await commit([outcomeOf('app', scanned), outcomeOf('web')])).toBe('committed');
    expect(writes).toEqual(['put app 8']);
  });

  it('are written before the shard above them is removed', async () => {
    expect(await commit([outcomeOf('app', split)])).toBe('committed');
    expect(writes).toHaveLength(17);
    expect([writes[0], writes.at(-1)]).toEqual(['put app 00', 'remove app 0']);
    expect(await prefixes('app')).toHaveLength(17);
    expect(await prefixes('app')).not.toContain('0');
  });

  it('are not written over what another reconcile has written, and the shard above them stays', async () => {
    await store('app', shardRecord('00', { epoch: epoch + 1 }));
    expect(await commit([outcomeOf('app', split), outcomeOf('web', scanned)])).toBe('superseded');
    expect(writes.filter((write) => !write.startsWith('put app'))).toEqual([]);
    expect(await prefixes('app')).toContain('0');
  });

  it('are those of another reconcile if it has changed the shard that was split', async () => {
    vi.mocked(ledger.removeShard).mockResolvedValueOnce('superseded');
    expect(await commit([outcomeOf('app', split), outcomeOf('web', scanned)])).toBe('superseded');
    expect(writes.filter((write) => write.startsWith('put web'))).toEqual([]);
  });

  it('are not written once another reconcile has the lease', async () => {
    await expect(commit([outcomeOf('app', scanned)], 'superseded')).rejects.toThrow(SupersededError);
    expect(writes).toEqual([]);
  });
});

describe('what is dropped after a reconcile', () => {
  it('is the record of each delete that was taken off the count', async () => {
    const dropped = vi.spyOn(ledger, 'dropRemoval').mockResolvedValue(undefined);
    const runs = [
      { deletionId: 'd1', runMs: 1 },
      { deletionId: 'd2', runMs: 2 },
    ];
    const outcomes = [{ ...outcomeOf('app'), runs }, outcomeOf('web')];
    await tidyShards({ ledger }, { tenant, epoch, outcomes, formerGiants: [], repos: [] });
    expect(dropped.mock.calls.flat()).toEqual(runs.map((run) => ({ tenant, repo: 'app', ...run })));
  });

  it('is each shard of a giant that is none any more, but not if it has become one again', async () => {
    await store('app', shardRecord('0', { epoch: epoch - 1 }), shardRecord('8', { epoch }));
    await store('web', shardRecord('0'));
    await tidyShards({ ledger }, { tenant, epoch, outcomes: [], formerGiants: ['app'], repos: [] });
    expect(writes).toEqual(['remove app 0']);
    expect([await prefixes('app'), await prefixes('web')]).toEqual([['8'], ['0']]);
  });

  it('is what a reconcile that died has left of such a giant, once', async () => {
    await store('app', shardRecord('0', { epoch: epoch - 1 }), shardRecord('8', { epoch }));
    const ended = vi.spyOn(ledger, 'endTidy').mockResolvedValue(undefined);
    const repos = [{ ...unknownRepo('app'), tidyBelowEpoch: epoch }, unknownRepo('web')];
    await tidyShards({ ledger }, { tenant, epoch: epoch + 5, outcomes: [], formerGiants: [], repos });
    expect([await prefixes('app'), writes]).toEqual([['8'], ['remove app 0']]);
    expect(ended.mock.calls).toEqual([[{ tenant, repo: 'app', tidyBelowEpoch: epoch }]]);
  });
});
