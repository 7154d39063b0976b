import { beforeEach, describe, expect, it } from 'vitest';
import { type Deletion, newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { prefixText } from '../../../../../lambda/core/rules/prefix-set.ts';
import {
  type Candidate,
  candidatesKey,
  encodeCandidates,
  type Gc,
  newGc,
  type Selection,
  withRun,
} from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { sweepCandidates } from '../../../../../lambda/subjects/gc/sweep-candidates.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { GcWorld, hour, repo } from './gc-world.ts';

const sum = { objectCount: 0, bytes: 0 };
const oidOf = (index: number) => sha256Hex(`candidate ${index}`);

describe('the deleting of candidates', () => {
  let world: GcWorld;
  let selection: Selection;

  /** A gc run that has chosen as many candidates as each number says, of 2 bytes each, in files of their own. */
  const chosen = async (...counts: readonly number[]): Promise<Gc> => {
    const { watch } = await world.opened();
    let index = 0;
    for (const [file, count] of counts.entries()) {
      const candidates: Candidate[] = [];
      for (; candidates.length < count; index += 1) candidates.push({ oid: oidOf(index), sizeBytes: 2 });
      for (const { oid } of candidates) world.objects.put(`${tenant}/${repo}/${oid}`, 2, undefined, 0);
      const key = candidatesKey({ tenant, watchId: watch.id }, { folder: 'f', file });
      await world.deps.archives.put(key, encodeCandidates(candidates));
    }
    selection = {
      folder: 'f',
      files: counts.length,
      seenAtMs: world.nowMs,
      listed: sum,
      kept: sum,
      young: sum,
      inUse: sum,
      candidates: sum,
      largest: [],
    };
    const run = {
      id: 'r',
      requestedAtMs: world.nowMs,
      reachableCount: 0,
      reachableSha256: '',
      isDryRun: false,
      isForced: true,
      minAgeMs: 0,
    };
    const asked = withRun(await world.gc(), run);
    return put({ ...asked, state: 'deleting', selection });
  };
  const put = async (gc: Gc): Promise<Gc> => {
    const before = await world.gc();
    const written = await world.gcRuns.put({
      tenant,
      gc,
      versionRead: before.version,
      writeId: `test-${before.version}`,
    });
    if (!written) throw new Error('It was not written.');
    return written;
  };
  const sweep = async (untilMs = 9e15) =>
    sweepCandidates(world.deps, { tenant, gc: await world.gc(), untilMs });
  const storedCount = () => world.objects.objectCount - fileCount;
  let fileCount = 0;

  beforeEach(async () => {
    world = await GcWorld.with([0]);
    fileCount = 0;
  });
  const begin = async (...counts: readonly number[]) => {
    const gc = await chosen(...counts);
    // Beside the candidates: the files, and the object that was stored before.
    fileCount = counts.length + 1;
    return gc;
  };

  it('needs a choice', async () => {
    const gc = newGc({ repo, watch: { id: 'w', openedAtMs: 1, untilMs: 2 } });
    await expect(sweepCandidates(world.deps, { tenant, gc, untilMs: 9e15 })).rejects.toThrow(
      'selected nothing',
    );
  });

  it('covers each file, and counts what it deleted', async () => {
    await begin(3, 2, 4);
    const { log, entries } = recordingLog();
    const gc = await world.gc();
    const done = await sweepCandidates({ ...world.deps, log }, { tenant, gc, untilMs: 9e15 });
    expect(done).toMatchObject({
      state: 'done',
      endedAtMs: world.nowMs,
      progress: { file: 3, line: 0, deleted: { objectCount: 9, bytes: 18 } },
    });
    expect(storedCount()).toBe(0);
    expect(entries.at(-1)).toEqual({
      level: 'info',
      message: 'gc run done',
      fields: { tenant, repo, objectCount: 9, bytes: 18 },
    });
  });

  it('goes on at the line where it ended', async () => {
    const gc = await begin(4, 2);
    await put({ ...gc, progress: { file: 0, line: 3, deleted: { objectCount: 2, bytes: 4 } } });
    expect(await sweep()).toMatchObject({
      progress: { file: 2, line: 0, deleted: { objectCount: 5, bytes: 10 } },
    });
    expect(storedCount()).toBe(3);
  });

  it.each([
    { title: '1,000', hasPrefixes: true, count: 2_400, size: 1_000 },
    { title: '250, if an older version opened it,', hasPrefixes: undefined, count: 600, size: 250 },
  ])('deletes $title at a time, and at least once', async ({ hasPrefixes, count, size }) => {
    const gc = await begin(count);
    await put({ ...gc, watch: { ...gc.watch, hasPrefixes } });
    const deleted: number[] = [];
    for (let step = 0; step < 3; step += 1) {
      // A time that is over: each call deletes one piece.
      const outcome = await sweep(world.nowMs - 1);
      const { progress } = await world.gc();
      deleted.push(progress.deleted.objectCount);
      expect([outcome === 'unfinished', progress.file, progress.line]).toEqual(
        [
          [true, 0, size],
          [true, 0, 2 * size],
          [true, 1, 0],
        ][step],
      );
      expect((await world.gc()).dueAtMs).toBe(world.nowMs + minute);
    }
    expect(deleted).toEqual([size, 2 * size, count]);
    expect(storedCount()).toBe(0);
    expect(await sweep(world.nowMs - 1)).toMatchObject({ state: 'done' });
  });

  it('of a whole piece ends with it, without an empty one', async () => {
    await begin(1_000);
    expect(await sweep(world.nowMs - 1)).toBe('unfinished');
    expect((await world.gc()).progress).toMatchObject({ file: 1, line: 0 });
  });

  it('goes on to the last moment of its time', async () => {
    await begin(300);
    expect(await sweep(world.nowMs)).toMatchObject({ state: 'done' });
  });

  it('ends without more if the list is gone from the store, and says what to do', async () => {
    const { watch } = await begin(1, 1);
    await world.objects.delete([candidatesKey({ tenant, watchId: watch.id }, { folder: 'f', file: 1 })]);
    const failed = await sweep();
    expect(failed).toMatchObject({
      state: 'watching',
      failure: { reason: 'no-candidates' },
      progress: { file: 1, deleted: { objectCount: 1 } },
    });
    expect(typeof failed === 'object' && failed.failure?.message).toContain('Run it again.');
    expect(await world.gc()).toEqual(failed);
  });

  it('ends without more if the list is cut, and says what to do', async () => {
    const { watch } = await begin(2);
    const key = candidatesKey({ tenant, watchId: watch.id }, { folder: 'f', file: 0 });
    const bytes = (await world.deps.archives.get(key)) ?? Buffer.of();
    await world.deps.archives.put(key, bytes.subarray(0, bytes.length / 2 + 9));
    expect(await sweep()).toMatchObject({ state: 'watching', failure: { reason: 'no-candidates' } });
    expect(await world.keys()).toEqual(
      expect.arrayContaining([`${repo}/${oidOf(0)}`, `${repo}/${oidOf(1)}`]),
    );
  });

  it('ends without more if batches have named more than one set holds since, and says what to do', async () => {
    await begin(1);
    const prefixes = Buffer.alloc(8 * 100_000).toString('base64');
    world.ledger.seen = async function* () {
      for (let page = 0; page < 51; page += 1) yield [{ beganMs: world.nowMs, prefixes }];
    };
    const failed = await sweep();
    expect(failed).toMatchObject({ state: 'watching', failure: { reason: 'too-many-names' } });
    expect(typeof failed === 'object' && failed.failure?.message).toContain('Cancel it, and open another.');
    expect(await world.gc()).toEqual(failed);
  });

  it('leaves what batches have named since, and makes no deletion of it', async () => {
    const { watch } = await begin(2);
    const note = { beganMs: world.nowMs, prefixes: prefixText([oidOf(0), oidOf(1)]) };
    await world.ledger.noteSeen({ tenant, watch, intentId: 'n', note });
    world.ledger.putDeletion = async () => {
      throw new Error('Nothing is to be deleted.');
    };
    expect(await sweep()).toMatchObject({
      state: 'done',
      progress: { deleted: { objectCount: 0, bytes: 0 } },
    });
    expect(storedCount()).toBe(2);
  });

  it('reads anew only what batches may have named since the choice', async () => {
    await begin(1);
    const read: number[] = [];
    const seen = world.ledger.seen.bind(world.ledger);
    world.ledger.seen = (input) => {
      read.push(input.fromMs);
      return seen(input);
    };
    world.nowMs += 5_000;
    await sweep();
    const { batchTimeLimitMs, clockSkewMs } = world.deps.settings;
    const againMs = batchTimeLimitMs + 2 * clockSkewMs;
    // Before the deletions, and then for the one deletion: since right before.
    expect(read).toEqual([selection.seenAtMs - againMs, world.nowMs - againMs]);
  });

  it('waits while something holds what is in the repo', async () => {
    await begin(1);
    world.holdFor(hour);
    expect(await sweep()).toBe('waiting');
    expect(storedCount()).toBe(1);
    expect((await world.gc()).dueAtMs).toBe(world.nowMs + minute);
  });

  it('waits if somebody changed the gc run before', async () => {
    const gc = await begin(1);
    await put(gc);
    expect(await sweepCandidates(world.deps, { tenant, gc, untilMs: 9e15 })).toBe('waiting');
    expect(storedCount()).toBe(1);
  });

  it('stops if somebody cancels it meanwhile', async () => {
    await begin(1_050);
    world.beforeDelete = () => {
      world.beforeDelete = () => undefined;
      void world.gc().then((gc) => put({ ...gc, state: 'cancelled' }));
    };
    expect(await sweep()).toBe('waiting');
    expect(storedCount()).toBe(50);
    expect(await world.gc()).toMatchObject({ state: 'cancelled', progress: { line: 0 } });
  });

  it('stops when its watch is over, and is not done', async () => {
    const { watch } = await begin(2, 2);
    const endDeletion = world.ledger.endDeletion.bind(world.ledger);
    world.ledger.endDeletion = async (input) => {
      await endDeletion(input);
      world.nowMs = Math.max(world.nowMs, watch.untilMs);
    };
    expect(await sweep()).toBe('waiting');
    expect(storedCount()).toBe(2);
    expect(await world.gc()).toMatchObject({
      state: 'deleting',
      progress: { file: 1, line: 0, deleted: { objectCount: 2 } },
    });
  });

  it('waits if somebody cancels it at its very end', async () => {
    await begin();
    const putGc = world.gcRuns.put.bind(world.ledger);
    world.gcRuns.put = async (input) => (input.gc.state === 'done' ? undefined : putGc(input));
    expect(await sweep()).toBe('waiting');
  });

  it('waits if somebody changes it while its list is found to be gone', async () => {
    const { watch } = await begin(1);
    await world.objects.delete([candidatesKey({ tenant, watchId: watch.id }, { folder: 'f', file: 0 })]);
    const putGc = world.gcRuns.put.bind(world.ledger);
    world.gcRuns.put = async (input) => (input.gc.failure ? undefined : putGc(input));
    expect(await sweep()).toBe('waiting');
  });

  describe('that was begun before', () => {
    const earlier = (more: Partial<Deletion>) => {
      const objects = new Map([[oidOf(0), 2]]);
      const deletion = newDeletion({ id: 'gc-f-0-0', repo, objects, dueAtMs: world.nowMs });
      return world.ledger.putDeletion({ tenant, deletion: { ...deletion, ...more } });
    };

    it('waits while somebody may still be deleting', async () => {
      await begin(1);
      await earlier({ state: 'deleting', deadlineMs: world.nowMs });
      expect(await sweep()).toBe('waiting');
      expect(await world.gc()).toMatchObject({ progress: { line: 0 } });
    });

    it('takes over from one that died', async () => {
      const { watch } = await begin(1);
      const sweepOf = { watchId: watch.id, seenFromMs: 0 };
      await earlier({ state: 'deleting', deadlineMs: world.nowMs - hour, sweep: sweepOf });
      expect(await sweep()).toMatchObject({ state: 'done', progress: { deleted: { objectCount: 1 } } });
      expect(storedCount()).toBe(0);
    });

    it('goes on after one that has ended, and counts nothing twice', async () => {
      await begin(1);
      await earlier({ state: 'deleted', deadlineMs: world.nowMs + hour });
      expect(await sweep()).toMatchObject({
        state: 'done',
        progress: { deleted: { objectCount: 0, bytes: 0 } },
      });
    });

    it('goes on after one that an older version had wait for reservations to die', async () => {
      await begin(1);
      await earlier({ dueAtMs: world.nowMs + hour });
      expect(await sweep()).toMatchObject({ state: 'done', progress: { deleted: { objectCount: 0 } } });
      expect(storedCount()).toBe(1);
    });
  });

  describe('beside other deletions of the repo', () => {
    /** Deletions that name as many objects together. */
    const others = async (count: number, more: object) => {
      for (let left = count; left > 0; left -= 1_000) {
        const objects = new Map(
          Array.from({ length: Math.min(left, 1000) }, (_, index) => [sha256Hex(`o${left}-${index}`), 1]),
        );
        const deletion = newDeletion({ id: `other${left}`, repo, objects, dueAtMs: 9e15 });
        await world.ledger.putDeletion({ tenant, deletion: { ...deletion, ...more } });
      }
    };
    /** Others that are gone, and of which no count knows yet. */
    const uncounted = async (count: number) => {
      await others(count, { state: 'deleting', deadlineMs: 1 });
      for (const { id, objects } of await world.deletions()) {
        const removed = [...objects.keys()].map((oid) => [oid, { sizeBytes: 1, lastModifiedMs: 1 }] as const);
        await world.ledger.endDeletion({
          tenant,
          repo,
          deletionId: id,
          deadlineMs: 1,
          left: new Map(),
          dueAtMs: 1,
          keptUntilMs: 1,
          removal: { runMs: 1, beganMs: 1, endedMs: 1, objects: new Map(removed) },
        });
      }
    };

    it('waits if they name more than 60,000 objects with its own, and none of them is gone', async () => {
      await begin(1);
      await others(59_000, {});
      expect(await sweep()).toMatchObject({ state: 'done' });
      world = await GcWorld.with([0]);
      await begin(1);
      await others(59_001, {});
      expect(await sweep()).toBe('waiting');
      expect(storedCount()).toBe(1);
    });

    it('sleeps until the records of what is gone are no longer needed, and removes them', async () => {
      await begin(1);
      await others(59_001, { state: 'deleted', deadlineMs: world.nowMs + 3_000 });
      const beganMs = world.nowMs;
      expect(await sweep()).toMatchObject({ state: 'done' });
      expect(world.nowMs - beganMs).toBe(4_000);
      expect((await world.deletions()).filter(({ id }) => id.startsWith('other'))).toEqual([]);
    });

    it('sleeps although others will be there for longer', async () => {
      await begin(1);
      await others(1_000, { state: 'deleted', deadlineMs: world.nowMs + 1_000 });
      await others(58_900, {});
      expect(await sweep()).toMatchObject({ state: 'done' });
      expect((await world.deletions()).map(({ id }) => id)).toEqual(expect.arrayContaining(['other900']));
    });

    it('keeps those to the last millisecond in which a batch needs them', async () => {
      await begin(1);
      await others(1, { state: 'deleted', deadlineMs: world.nowMs });
      await sweep();
      expect((await world.deletions()).map(({ id }) => id)).toContain('other1');
    });

    it('keeps those of which the count still needs the record', async () => {
      await begin(1);
      await uncounted(59_001);
      const beganMs = world.nowMs;
      // They are still read by each batch. Only a reconcile can help, so it doesn't sleep.
      expect(await sweep(world.nowMs + 3_000)).toBe('uncounted');
      expect(world.nowMs).toBe(beganMs);
      expect((await world.deletions()).filter(({ id }) => id.startsWith('other'))).toHaveLength(60);
    });

    it('sleeps if some of these records are no longer needed soon', async () => {
      await begin(1);
      await uncounted(58_001);
      const deletion = newDeletion({ id: 'a', repo, objects: new Map(), dueAtMs: 0 });
      const prefixes = prefixText(Array.from({ length: 1_000 }, (_, index) => oidOf(index)));
      const deadlineMs = world.nowMs + 1_000;
      await world.ledger.putDeletion({
        tenant,
        deletion: { ...deletion, state: 'deleted', deadlineMs, prefixes },
      });
      expect(await sweep()).toMatchObject({ state: 'done' });
    });

    it('is unfinished if that takes longer than there is time', async () => {
      await begin(1);
      await others(59_001, { state: 'deleted', deadlineMs: world.nowMs + 3_000 });
      const beganMs = world.nowMs;
      expect(await sweep(beganMs + 3_999)).toBe('unfinished');
      expect(world.nowMs - beganMs).toBe(2_000);
      expect(await sweep(world.nowMs + 2_000)).toMatchObject({ state: 'done' });
    });
  });
});
