import { describe, expect, it } from 'vitest';
import { newDeletion, type Removal } from '../../lambda/core/ledger/rules/deletion.ts';
import { countedNamesMax, type Shard } from '../../lambda/core/ledger/rules/shard.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { prefixText } from '../../lambda/core/rules/prefix-set.ts';
import { shardRecord } from '../support/shard-record.ts';
import { ledgerContext, type OpenTable, oid } from './ledger-context.ts';

export function largeRepoContract(table: OpenTable): void {
  describe('shards of large repos', () => {
    const { ledger, create } = ledgerContext(table);
    const all = (tenant: string, repo = 'app') => allPages(ledger.shards({ tenant, repo }));
    const put = (tenant: string, shard: Shard, epochRead: number | null = null, repo = 'app') =>
      ledger.putShard({ tenant, repo, shard, epochRead });

    it('are read as they were put, each repo by itself, in the order of their prefixes', async () => {
      const tenant = await create();
      const full = shardRecord('a0', {
        partOf: { prefix: 'a', epoch: 4 },
        storedBytes: 2 ** 52,
        objectCount: 7,
        sinceBytes: -5,
        sinceCount: -1,
        stale: { fromMs: 3, untilMs: 4, doubtBytes: 5 },
        counted: new Map([
          [oid('a'), 1_800_000_000_000],
          [oid('b'), 0],
        ]),
        appliedRuns: new Set(['d1:5', 'd2:6']),
      });
      for (const shard of [full, shardRecord(''), shardRecord('a')])
        expect(await put(tenant, shard)).toBe('put');
      await put(tenant, shardRecord('0'), null, 'app#');
      expect(await all(tenant)).toEqual([shardRecord(''), shardRecord('a'), full]);
      expect(await all(tenant, 'app#')).toEqual([shardRecord('0')]);
      expect(await all(tenant, 'web')).toEqual([]);
      // They are no repos, reservations or deletions.
      expect(await allPages(ledger.repos(tenant))).toEqual([]);
    });

    it('are written only over what was read', async () => {
      const tenant = await create();
      const of = (epoch: number, more: Partial<Shard> = {}) => shardRecord('7', { epoch, ...more });
      expect(await put(tenant, of(5), 4)).toBe('superseded');
      expect(await put(tenant, of(5))).toBe('put');
      expect(await put(tenant, of(7), 5)).toBe('put');
      expect(await put(tenant, of(8), 5)).toBe('superseded');
      // A retry of what was written already changes nothing.
      expect(await put(tenant, of(7, { storedBytes: 9 }), 5)).toBe('put');
      expect(await all(tenant)).toEqual([of(7)]);
    });

    it('are written anew over those of older epochs, which are left from when the repo was a large repo before', async () => {
      const tenant = await create();
      await put(tenant, shardRecord('7', { epoch: 5, partOf: { prefix: '', epoch: 3 } }));
      expect(await put(tenant, shardRecord('7', { epoch: 4 }))).toBe('superseded');
      expect(await put(tenant, shardRecord('7', { epoch: 6 }))).toBe('put');
      expect(await all(tenant)).toEqual([shardRecord('7', { epoch: 6 })]);
    });

    it('are in doubt no longer once that is written', async () => {
      const tenant = await create();
      await put(tenant, shardRecord('7', { epoch: 5, stale: { fromMs: 1, untilMs: 2, doubtBytes: 3 } }));
      await put(tenant, shardRecord('7', { epoch: 6 }), 5);
      expect(await all(tenant)).toEqual([shardRecord('7', { epoch: 6 })]);
    });

    it('are removed if they are as they were read', async () => {
      const tenant = await create();
      await put(tenant, shardRecord('7', { epoch: 5 }));
      const remove = (epochRead: number) =>
        ledger.removeShard({ tenant, repo: 'app', prefix: '7', epochRead });
      expect(await remove(4)).toBe('superseded');
      expect(await remove(5)).toBe('removed');
      expect(await remove(5)).toBe('superseded');
      expect(await all(tenant)).toEqual([]);
      // A write over none that lands once more.
      expect(await put(tenant, shardRecord('7', { epoch: 5 }))).toBe('put');
    });

    it('fit into an item with as many names as they keep', async () => {
      const tenant = await create();
      const name = (index: number) => `7${index.toString(16).padStart(63, '0')}`;
      const counted = new Map(
        Array.from({ length: countedNamesMax }, (_, index) => [name(index), 1_800_000_000_000] as const),
      );
      expect(await put(tenant, shardRecord('7', { counted }))).toBe('put');
      expect((await all(tenant))[0]?.counted.size).toBe(countedNamesMax);
    });
  });

  describe('large repos', () => {
    const { ledger, create, begin, commit } = ledgerContext(table);
    const read = (tenant: string) => ledger.readRepo({ tenant, repo: 'app' });
    const count = (
      tenant: string,
      epoch: number,
      large?: { sinceEpoch: number; rescanFromMs: number },
      dirtyTokenRead: string | null = null,
    ) => {
      const found = { repo: 'app', storedBytes: 3, objectCount: 1, scannedAtMs: 9, putsUntilMs: 0 };
      const repo = { ...found, epoch, covered: new Set<string>(), ...(large && { large }) };
      return ledger.commitRepo({ tenant, repo, dirtyTokenRead });
    };
    const large = { sinceEpoch: 1, rescanFromMs: 7 };

    it('are told by their repo, until it is committed as an ordinary one', async () => {
      const tenant = await create();
      await count(tenant, 1, large);
      expect((await read(tenant))?.large).toEqual(large);
      await ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'x' });
      expect((await read(tenant))?.large).toEqual(large);
      await count(tenant, 2, { ...large, rescanFromMs: 8 });
      expect((await read(tenant))?.dirtyToken).toBe('x');
      await count(tenant, 3, large, 'x');
      expect(await read(tenant)).toMatchObject({ large, dirtyToken: null });
      await count(tenant, 4);
      expect(await read(tenant)).not.toHaveProperty('large');
    });

    it('begin with an initial scan, of a repo that is known or not, unless a later reconcile has counted it', async () => {
      const tenant = await create();
      const begin = (epoch: number) => ledger.startLargeRepo({ tenant, repo: 'app', epoch });
      const large = { sinceEpoch: 2, rescanFromMs: 0, isInitialScan: true };
      expect(await begin(2)).toBe('begun');
      expect(await read(tenant)).toMatchObject({ epoch: 0, objectCount: 0, covered: new Set(), large });
      // A retry, and another reconcile.
      expect([await begin(2), await begin(3)]).toEqual(['begun', 'superseded']);
      await count(tenant, 4);
      expect([await begin(3), await begin(4)]).toEqual(['superseded', 'superseded']);
      expect(await begin(5)).toBe('begun');
      expect(await read(tenant)).toMatchObject({ epoch: 4, objectCount: 1, large: { sinceEpoch: 5 } });
    });

    it('tell how far their initial scan is, until it has ended', async () => {
      const tenant = await create();
      const progress = { beganMs: 1, atMs: 2, share: 0.0625, objectCount: 3, listRequests: 4 };
      const note = (sinceEpoch: number) => ledger.noteProgress({ tenant, repo: 'app', sinceEpoch, progress });
      await note(2);
      expect(await read(tenant)).toBeUndefined();
      await ledger.startLargeRepo({ tenant, repo: 'app', epoch: 2 });
      await note(1);
      expect((await read(tenant))?.large).not.toHaveProperty('progress');
      await note(2);
      const first = { sinceEpoch: 2, rescanFromMs: 0, isInitialScan: true, progress };
      expect((await read(tenant))?.large).toEqual(first);
      await count(tenant, 3, { sinceEpoch: 2, rescanFromMs: 0 });
      await note(2);
      expect((await read(tenant))?.large).toEqual({ sinceEpoch: 2, rescanFromMs: 0 });
    });

    it('lose a dirty token if it is the one that was read', async () => {
      const tenant = await create();
      const clear = (dirtyToken: string) => ledger.clearDirty({ tenant, repo: 'app', dirtyToken });
      await clear('x');
      expect(await read(tenant)).toBeUndefined();
      await ledger.markDirty({ tenant, repo: 'app', dirtyToken: 'y' });
      await clear('x');
      expect((await read(tenant))?.dirtyToken).toBe('y');
      await clear('y');
      expect((await read(tenant))?.dirtyToken).toBeNull();
    });

    it('are paused, resumed and given up, which commits leave until they are large repos no longer', async () => {
      const tenant = await create();
      const steer = async (how: { pausedAtMs: number | null } | { cancelledAtMs: number }) => {
        const { steeringVersion = 0 } = (await read(tenant)) ?? {};
        return ledger.steerScan({ tenant, repo: 'app', steeringVersion, ...how });
      };
      expect(await steer({ pausedAtMs: 5 })).toBe('refused');
      await count(tenant, 1);
      expect(await steer({ cancelledAtMs: 5 })).toBe('refused');
      await count(tenant, 2, large);
      expect([await steer({ pausedAtMs: 5 }), await steer({ cancelledAtMs: 6 })]).toEqual(['done', 'done']);
      expect((await read(tenant))?.steeringVersion).toBe(2);
      await count(tenant, 3, large);
      expect(await read(tenant)).toMatchObject({ scanPausedAtMs: 5, scanCancelledAtMs: 6, large });
      expect(await steer({ pausedAtMs: null })).toBe('done');
      expect(await read(tenant)).not.toHaveProperty('scanPausedAtMs');
      await steer({ pausedAtMs: 8 });
      await count(tenant, 4);
      const left = await read(tenant);
      for (const field of ['large', 'scanPausedAtMs', 'scanCancelledAtMs'])
        expect(left).not.toHaveProperty(field);
      // If it becomes a large repo again, nothing of before lands on it.
      expect(left?.steeringVersion).toBe(4);
    });

    it('are steered over what was read alone, so a pause that lands late pauses nothing that goes on', async () => {
      const tenant = await create();
      await count(tenant, 1, large);
      const path = { tenant, repo: 'app' };
      const pause = { ...path, pausedAtMs: 5, steeringVersion: 0 };
      expect(await ledger.steerScan(pause)).toBe('done');
      expect(await ledger.steerScan({ ...path, pausedAtMs: null, steeringVersion: 1 })).toBe('done');
      const now = await read(tenant);
      expect(await ledger.steerScan(pause)).toBe('refused');
      expect(await ledger.steerScan({ ...path, cancelledAtMs: 5, steeringVersion: 1 })).toBe('refused');
      expect(await read(tenant)).toEqual(now);
    });

    it('have a rate of LISTs and a number of other objects at their tenant, which a plain commit leaves', async () => {
      const tenant = await create();
      const reconcile = async (epoch: number, more: object) => {
        await begin(tenant);
        await commit(tenant, epoch, more);
        return ledger.readTenant(tenant);
      };
      const shardLists = { month: '2026-11', requests: 3 };
      const largeRepos = { shardsListedUntilMs: 77, shardLists, listedObjectCount: 5 };
      expect(await reconcile(1, {})).not.toHaveProperty('shardsListedUntilMs');
      expect(await reconcile(2, largeRepos)).toMatchObject(largeRepos);
      expect(await reconcile(3, {})).toMatchObject(largeRepos);
    });
  });

  describe('what a delete removed', () => {
    const { ledger, create } = ledgerContext(table);
    const key = { repo: 'app', deletionId: 'd1' };
    const removal: Removal = {
      runMs: 1000,
      beganMs: 900,
      endedMs: 950,
      objects: new Map([
        [oid('a'), { sizeBytes: 10, lastModifiedMs: 5 }],
        ['notes.txt', { sizeBytes: 8, lastModifiedMs: null }],
        // A map loses it.
        ['__proto__', { sizeBytes: 9, lastModifiedMs: 6 }],
      ]),
    };
    /** A run that has ended. */
    const ended = async (more: {
      left?: Map<string, number>;
      keptUntilMs?: number | null;
      prefixes?: string;
      removal?: Removal;
    }) => {
      const tenant = await create();
      const objects = new Map([...removal.objects].map(([name, { sizeBytes }]) => [name, sizeBytes]));
      const deletion = newDeletion({ id: 'd1', repo: 'app', objects, dueAtMs: 700 });
      await ledger.putDeletion({ tenant, deletion });
      await ledger.claimDeletion({ tenant, before: deletion, deadlineMs: 1000 });
      const end = { left: new Map<string, number>(), keptUntilMs: 2000, dueAtMs: 1500, removal, ...more };
      await ledger.endDeletion({ tenant, ...key, deadlineMs: 1000, ...end });
      const one = async () => (await allPages(ledger.deletions(tenant)))[0];
      return { tenant, one };
    };

    it('is kept, and the record of what is gone names oids only', async () => {
      const { one } = await ended({});
      expect(await one()).toEqual({
        id: 'd1',
        repo: 'app',
        state: 'deleted',
        deadlineMs: 2000,
        dueAtMs: 2000,
        objects: new Map([[oid('a'), 10]]),
        removal,
      });
    });

    it('is kept beside what the names begin with, and outlived by that', async () => {
      const objects = new Map([[oid('a'), { sizeBytes: 10, lastModifiedMs: 5 }]]);
      const prefixes = prefixText(objects.keys());
      const { tenant, one } = await ended({ prefixes, removal: { ...removal, objects } });
      const gone = { state: 'deleted', objects: new Map(), prefixes };
      expect(await one()).toMatchObject({ ...gone, removal: { ...removal, objects } });
      await ledger.dropRemoval({ tenant, ...key, runMs: 1000 });
      expect(await one()).toMatchObject(gone);
      expect(await one()).not.toHaveProperty('removal');
    });

    it('is kept although nothing else of the record would be', async () => {
      expect(await (await ended({ keptUntilMs: null })).one()).toMatchObject({
        state: 'deleted',
        deadlineMs: 0,
        removal,
      });
    });

    it('is kept beside what is left', async () => {
      const left = new Map([['notes.txt', 8]]);
      expect(await (await ended({ left })).one()).toMatchObject({
        state: 'scheduled',
        dueAtMs: 1500,
        objects: left,
        removal,
      });
    });

    it('is dropped by the id of its run, and keeps its record until then', async () => {
      const { tenant, one } = await ended({});
      await ledger.removeDeletion({ tenant, ...key, deadlineMs: 2000 });
      await ledger.dropRemoval({ tenant, ...key, runMs: 999 });
      expect(await one()).toMatchObject({ removal });
      await ledger.dropRemoval({ tenant, ...key, runMs: 1000 });
      expect(await one()).not.toHaveProperty('removal');
      await ledger.dropRemoval({ tenant, ...key, runMs: 1000 });
      await ledger.removeDeletion({ tenant, ...key, deadlineMs: 2000 });
      expect(await one()).toBeUndefined();
    });
  });
}
