import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { unconfirmedForMs } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { runDeletion } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { LargeRepoStack, largeRepoStack, oidOf, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;
let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
});

const push = (from: number, count: number) => {
  const oids = Array.from({ length: count }, (_, index) => oidOf(from + index));
  return { oids, entries: Object.fromEntries(oids.map((oid) => [oid, 10])) };
};

describe('a repo of many objects', () => {
  it('becomes a large repo when it is counted next', async () => {
    expect(await stack.ledger.readRepo({ tenant, repo })).toMatchObject({ large: {}, objectCount: 60 });
    expect(await stack.shards()).toHaveLength(16);
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
  });

  it('is counted in full without a LIST of it, until a round is over', async () => {
    stack.nowMs += day;
    const [lists] = await stack.reconcile('upload', true);
    expect(lists).toBeLessThan(2);
    stack.nowMs += 7 * day;
    expect((await stack.reconcile())[0]).toBeGreaterThanOrEqual(16);
  });

  it('is counted again when somebody asks for that', async () => {
    stack.put({ [`${repo}/${oidOf(100)}`]: 7 });
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
    await stack.reconcile('manual', true);
    expect(await stack.usage()).toEqual({ storedBytes: 607, committedBytes: 607 });
  });

  it('is listed as a whole again once it has few, and its shards go', async () => {
    for (let index = 0; index < 45; index += 1)
      await stack.objects.delete([`${tenant}/${repo}/${oidOf(index)}`]);
    stack.nowMs += hour;
    await stack.reconcile('manual', true);
    expect(await stack.usage()).toEqual({ storedBytes: 150, committedBytes: 150 });
    await stack.reconcile();
    expect((await stack.ledger.readRepo({ tenant, repo }))?.large).toBeUndefined();
    expect(await stack.shards()).toEqual([]);
    expect(await stack.usage()).toEqual({ storedBytes: 150, committedBytes: 150 });
  });
});

describe('a large repo that had few objects, and has many again when it is listed', () => {
  it('stays one, keeps its shards, and is counted', async () => {
    for (let index = 0; index < 45; index += 1)
      await stack.objects.delete([`${tenant}/${repo}/${oidOf(index)}`]);
    stack.nowMs += hour;
    await stack.reconcile('manual', true);
    expect(await stack.usage()).toEqual({ storedBytes: 150, committedBytes: 150 });
    // Around the API, before the next reconcile lists it as an ordinary repo.
    for (let index = 0; index < 45; index += 1) stack.put({ [`${repo}/${oidOf(index)}`]: 10 });
    // A page is less than the repo, and as many objects as a large repo has.
    const { listPage } = stack.objects;
    stack.objects.listPage = ({ maxKeys = 1000, ...request }) =>
      listPage.call(stack.objects, { ...request, maxKeys: Math.min(maxKeys, 45) });
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.ledger.readRepo({ tenant, repo })).toMatchObject({ large: {} });
    expect(await stack.shards()).toHaveLength(16);
    stack.nowMs += hour;
    await stack.reconcile('manual', true);
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
  });
});

describe('a push to a large repo', () => {
  it('causes no LIST, and is shown as soon as it has arrived', async () => {
    const { oids, entries } = push(100, 20);
    expect(await stack.push(repo, entries)).toHaveProperty('size', 20);
    expect(await stack.reconcile()).toEqual([0, 20]);
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 800 });
    await stack.send(oids.slice(0, 15));
    expect(await stack.reconcile()).toEqual([0, 20]);
    expect(await stack.usage()).toEqual({ storedBytes: 750, committedBytes: 800 });
    // What has arrived is known.
    expect(await stack.reconcile()).toEqual([0, 5]);
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 750, committedBytes: 750 });
  });

  it('that arrives late is found at the looks for it', async () => {
    const { oids, entries } = push(100, 2);
    await stack.push(repo, entries);
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
    await stack.send(oids);
    await stack.pass(unconfirmedForMs + 2 * hour);
    expect(await stack.usage()).toEqual({ storedBytes: 620, committedBytes: 620 });
    expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
  });

  it('is counted once if its shard is scanned before and after it arrived', async () => {
    const { oids, entries } = push(100, 20);
    await stack.push(repo, entries);
    await stack.reconcile('manual', true);
    await stack.send(oids);
    await stack.reconcile();
    await stack.reconcile('manual', true);
    await stack.reconcile();
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 800, committedBytes: 800 });
  });

  it('is counted once if two batches claim it', async () => {
    const { oids, entries } = push(100, 5);
    await stack.push(repo, entries);
    await stack.push(repo, entries);
    await stack.send(oids);
    stack.nowMs += 30 * minute;
    await stack.reconcile();
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 650, committedBytes: 650 });
  });

  it('is counted once if its function was frozen while all was counted', async () => {
    const put = stack.ledger.putReservation;
    vi.spyOn(stack.ledger, 'putReservation').mockImplementationOnce(async (input) => {
      await stack.send(push(100, 1).oids);
      stack.nowMs += 3 * hour;
      await stack.reconcile('manual', true);
      return put.call(stack.ledger, input);
    });
    await stack.push(repo, push(100, 1).entries);
    stack.nowMs += minute;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 610, committedBytes: 610 });
  });

  it('splits a shard that has grown, and all stay counted', async () => {
    const oids = Array.from({ length: 40 }, (_, index) =>
      `7${index.toString(16).padStart(2, '0')}`.padEnd(64, 'e'),
    );
    await stack.push(repo, Object.fromEntries(oids.map((oid) => [oid, 10])));
    await stack.send(oids);
    stack.nowMs += hour;
    await stack.reconcile();
    await stack.reconcile('manual', true);
    expect((await stack.shards()).map(({ prefix }) => prefix)).toEqual(
      expect.arrayContaining(['6', '70', '7f', '8']),
    );
    expect(await stack.shards()).toHaveLength(31);
    expect(await stack.usage()).toEqual({ storedBytes: 1000, committedBytes: 1000 });
  });

  it('keeps its parts if the write that created it lands once more', async () => {
    stack = new LargeRepoStack();
    const written = vi.spyOn(stack.ledger, 'putShard');
    const nameOf = (index: number) => `70${index.toString(16).padStart(2, '0')}`.padEnd(64, 'e');
    const objects = Array.from({ length: 60 }, (_, index) => [`${repo}/${nameOf(index)}`, 10]);
    stack.put(Object.fromEntries(objects));
    stack.nowMs += day;
    await stack.create(100_000);
    for (let round = 0; round < 3; round += 1) {
      await stack.reconcile('manual', true);
      stack.nowMs += hour;
    }
    const before = await stack.shards();
    expect(before.map(({ prefix }) => prefix)).toEqual(expect.arrayContaining(['6', '700', '71', '8']));
    for (const [input] of [...written.mock.calls])
      if (input.epochRead === null) await stack.ledger.putShard(input);
    // 7 and 70.
    expect(await stack.shards()).toHaveLength(before.length + 2);
    // While somebody waits, no shard is scanned.
    await reconcile(stack.deps, { tenant, full: false, isAwaited: true });
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
    expect(await stack.shards()).toEqual(before);
  });
});

describe('a scan of a shard', () => {
  it('that sees what a batch reserved and sent meanwhile has it counted once', async () => {
    const oid = oidOf(100);
    const listPage = stack.objects.listPage.bind(stack.objects);
    let isSent = false;
    vi.spyOn(stack.objects, 'listPage').mockImplementation(async (request) => {
      // The LIST of the object's own shard.
      if (!isSent && request.startAfter === `${tenant}/${repo}/${oid[0]}`) {
        isSent = true;
        await stack.push(repo, { [oid]: 10 });
        await stack.send([oid]);
      }
      return listPage(request);
    });
    stack.nowMs += hour;
    await stack.reconcile('manual', true);
    expect(isSent).toBe(true);
    expect(await stack.usage()).toEqual({ storedBytes: 610, committedBytes: 620 });
    vi.restoreAllMocks();
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 610, committedBytes: 610 });
    stack.nowMs += hour;
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 610, committedBytes: 610 });
  });

  it('is not written over what another reconcile made of the shard', async () => {
    const { oids, entries } = push(100, 1);
    await stack.push(repo, entries);
    await stack.send(oids);
    const putShard = stack.ledger.putShard.bind(stack.ledger);
    let isOvertaken = false;
    vi.spyOn(stack.ledger, 'putShard').mockImplementation(async (input) => {
      if (!isOvertaken) {
        isOvertaken = true;
        const epoch = input.shard.epoch - 0.5;
        await putShard({ ...input, shard: { ...input.shard, epoch } });
      }
      return putShard(input);
    });
    const outcome = await reconcile(stack.deps, { tenant, full: false });
    expect([isOvertaken, outcome.kind]).toEqual([true, 'superseded']);
    vi.restoreAllMocks();
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 610, committedBytes: 610 });
  });
});

describe('a reconcile that dies', () => {
  it.each(['commitRepo', 'commitTenant', 'dropRemoval'] as const)(
    'before its %s has a delete taken off once all the same',
    async (method) => {
      await stack.delete(oidOf(3));
      vi.spyOn(stack.ledger, method).mockRejectedValueOnce(new LedgerUnavailableError('It died.'));
      await expect(stack.reconcile()).rejects.toThrow('It died.');
      stack.nowMs += minute;
      await stack.reconcile();
      expect(await stack.usage()).toEqual({ storedBytes: 590, committedBytes: 590 });
      stack.nowMs += minute;
      await stack.reconcile();
      expect(await stack.usage()).toEqual({ storedBytes: 590, committedBytes: 590 });
    },
  );
});

describe('a delete in a large repo', () => {
  it('of an old object causes no LIST, and is shown at once', async () => {
    await stack.delete(oidOf(3));
    expect((await stack.reconcile())[0]).toBe(0);
    expect(await stack.usage()).toEqual({ storedBytes: 590, committedBytes: 590 });
    expect((await stack.deletions()).filter(({ removal }) => removal)).toEqual([]);
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 590, committedBytes: 590 });
  });

  it('causes none either if it may come again, because somebody pushed today', async () => {
    const { oids, entries } = push(100, 1);
    await stack.push(repo, entries);
    await stack.send(oids);
    stack.nowMs += hour;
    await stack.reconcile();
    await stack.delete(oidOf(3));
    expect((await stack.reconcile())[0]).toBe(0);
    expect(await stack.usage()).toEqual({ storedBytes: 600, committedBytes: 600 });
  });

  it('of one that is gone already has its shard scanned, and no other', async () => {
    const before = await stack.shards();
    await stack.delete(oidOf(3));
    await stack.objects.delete([`${tenant}/${repo}/${oidOf(3)}`]);
    expect((await stack.reconcile())[0]).toBe(1);
    expect(await stack.usage()).toEqual({ storedBytes: 590, committedBytes: 590 });
    const after = await stack.shards();
    const scanned = after.filter(({ scannedAtMs }, index) => scannedAtMs !== before[index]?.scannedAtMs);
    expect(scanned.map(({ prefix }) => prefix)).toEqual([oidOf(3).slice(0, 1)]);
  });

  it('may have happened since a deletion was due whose function died', async () => {
    const deletion = newDeletion({
      id: 'd1',
      repo,
      objects: new Map([[oidOf(3), 10]]),
      dueAtMs: stack.nowMs,
    });
    await stack.ledger.putDeletion({ tenant, deletion });
    const dueAtMs = stack.nowMs;
    stack.nowMs += minute;
    vi.spyOn(stack.ledger, 'markDirty').mockRejectedValueOnce(new LedgerUnavailableError('no answer'));
    await expect(runDeletion(stack.deps, { tenant, deletion, isClosed: false })).rejects.toThrow('no answer');
    stack.nowMs += 10 * minute;
    const [left] = await stack.deletions();
    if (!left) throw new Error('The deletion is gone.');
    await runDeletion(stack.deps, { tenant, deletion: left, isClosed: false });
    await reconcile(stack.deps, { tenant, full: false, isAwaited: true });
    // No shard was scanned, so what is shown is as old as the change that nobody saw.
    expect((await stack.ledger.readTenant(tenant))?.scanned).toMatchObject({
      storedBytes: 600,
      scannedAtMs: dueAtMs,
    });
  });

  it('that two deletions name is taken off once', async () => {
    const objects = new Map([[oidOf(3), 10]]);
    const deletions = ['d1', 'd2'].map((id) => newDeletion({ id, repo, objects, dueAtMs: stack.nowMs }));
    for (const deletion of deletions) await stack.ledger.putDeletion({ tenant, deletion });
    stack.nowMs += minute;
    // Two functions run them at the same time: each finds the object.
    const head = { sizeBytes: 10, sha256: undefined, lastModifiedMs: stack.nowMs - day };
    vi.spyOn(stack.deps.store, 'head').mockResolvedValue(head);
    await Promise.all(
      deletions.map((deletion) => runDeletion(stack.deps, { tenant, deletion, isClosed: false })),
    );
    vi.restoreAllMocks();
    await stack.reconcile();
    expect(await stack.usage()).toEqual({ storedBytes: 590, committedBytes: 590 });
  });

  it('of all of them empties the repo, and its name is free', async () => {
    await stack.ledger.closeRepo({ tenant, repo, closedAtMs: stack.nowMs });
    stack.nowMs += hour;
    await stack.consume();
    await stack.pass(4 * hour);
    expect(await stack.keys()).toEqual([]);
    expect(await stack.usage()).toEqual({ storedBytes: 0, committedBytes: 0 });
    expect(await stack.ledger.readRepo({ tenant, repo })).toMatchObject({ closedAtMs: null });
    expect((await stack.ledger.readRepo({ tenant, repo }))?.large).toBeUndefined();
  });
});
