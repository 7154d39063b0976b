import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import {
  admitUpload,
  findStoredForUpload,
  keepFromDeletion,
} from '../../../../../lambda/core/ledger/admit-upload.ts';
import { newDeletion, unmarkedObjectsMax } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { runDeletion } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { prefixText } from '../../../../../lambda/core/rules/prefix-set.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { KnownObjects } from '../../../../../lambda/core/scan/rules/known-objects.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { updateTenant } from '../../../../support/over-settings.ts';

const oid = oidOf(1);
const lifetimeMs = defaultSettings.urlLifetimeMs;

describe('a batch of uploads', () => {
  let world: MemoryStack;
  const push = (sizeBytes: number) => world.push('app', { [oid]: sizeBytes });
  const voidAll = async () => {
    for (const { id, repo } of world.reservations)
      expect(await world.ledger.voidReservation({ tenant, repo, reservationId: id })).toBe('gone');
  };

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(100);
  });

  afterEach(() => void vi.restoreAllMocks());

  it('gets no URL if a reconcile voided its reservation before it was issued', async () => {
    world.beforeNext('issueReservation', async () => {
      await voidAll();
    });
    const signUpload = vi.spyOn(world.deps.signer, 'signUpload');
    expect(await push(10)).toBe('retry');
    expect(signUpload).not.toHaveBeenCalled();
    expect(typeof (await push(10))).toBe('object');
  });

  it('is not refused by what it read if a reconcile voided its reservation meanwhile', async () => {
    world.beforeNext('addCommitted', async () => {
      await voidAll();
    });
    expect(await push(101)).toBe('retry');
    expect(await push(101)).toMatchObject(new Map([[oid, { kind: 'over-limit' }]]));
  });

  describe('on a disk without space for all of it', () => {
    const [first, second] = [oidOf(1), oidOf(2)];
    /** @param fits how many objects. */
    const fitting = (fits: number) => {
      const takeSpace = vi.fn((uploads: readonly { key: string }[], _untilMs: number) => ({
        lacking: uploads.slice(fits),
        freeBytes: 7,
      }));
      Object.assign(world.deps.store, { takeSpace });
      return takeSpace;
    };
    const pushBoth = () => world.push('app', { [first]: 10, [second]: 20 });

    it('gets URLs for what fits, and is told of the rest', async () => {
      const takeSpace = fitting(1);
      expect(await pushBoth()).toMatchObject(
        new Map([
          [first, { kind: 'upload' }],
          [second, { kind: 'no-space', freeBytes: 7 }],
        ]),
      );
      const [reservation] = world.reservations;
      expect([...(reservation?.entries.keys() ?? [])]).toEqual([first]);
      const sizes = [
        { oid: first, key: `${tenant}/app/${first}`, diskBytes: 10 },
        { oid: second, key: `${tenant}/app/${second}`, diskBytes: 20 },
      ];
      expect(takeSpace.mock.calls).toEqual([[sizes, reservation?.lapsedAtMs]]);
    });

    it('gets no URL for any of it, and leaves nothing reserved', async () => {
      fitting(0);
      const signUpload = vi.spyOn(world.deps.signer, 'signUpload');
      expect(await pushBoth()).toMatchObject(
        new Map([
          [first, { kind: 'no-space' }],
          [second, { kind: 'no-space' }],
        ]),
      );
      expect(signUpload).not.toHaveBeenCalled();
      expect(world.reservations).toEqual([]);
      expect(world.requests).toHaveLength(1);
      await world.consume();
      expect((await world.record()).committedBytes).toBe(0);
    });

    it('keeps none for what the limit refuses', async () => {
      const takeSpace = fitting(0);
      expect(await push(101)).toMatchObject(new Map([[oid, { kind: 'over-limit' }]]));
      expect(takeSpace).not.toHaveBeenCalled();
    });
  });

  it('gets URLs that end before its reservation, however late they are signed', async () => {
    const sign = vi.spyOn(world.deps.signer, 'signUpload');
    world.beforeNext('issueReservation', () => {
      world.nowMs += 20_000;
    });
    const beganMs = world.nowMs;
    expect(await push(10)).toMatchObject(
      new Map([[oid, { kind: 'upload', expiresInMs: lifetimeMs - 20_000 }]]),
    );
    const key = `${tenant}/app/${oid}`;
    expect(sign.mock.calls).toEqual([[{ key, oid, sizeBytes: 10, signedAtMs: beganMs, lifetimeMs }]]);
    const [reservation] = world.reservations;
    expect(reservation?.expiresAtMs).toBe(beganMs + lifetimeMs + minute);
  });

  it('that was paused until nobody gets its answer hands out no URL, and leaves no reservation', async () => {
    const put = world.ledger.putReservation;
    const pausedFor = async (durationMs: number) => {
      vi.spyOn(world.ledger, 'putReservation').mockImplementationOnce(async (input) => {
        world.nowMs += durationMs;
        return put.call(world.ledger, input);
      });
      return push(10);
    };
    const { batchTimeLimitMs } = world.deps.settings;
    expect(await pausedFor(batchTimeLimitMs + 1)).toBe('retry');
    expect(world.reservations).toEqual([]);
    expect(await pausedFor(batchTimeLimitMs)).toHaveProperty('size', 1);
  });

  it('whose every object is stored leaves nothing behind', async () => {
    world.put({ [`app/${oid}`]: 10 });
    expect(await push(10)).toEqual(new Map([[oid, { kind: 'stored' }]]));
    expect(await push(11)).toEqual(new Map([[oid, { kind: 'size-conflict', storedBytes: 10 }]]));
    expect(world.reservations).toEqual([]);
    expect(await world.record()).toMatchObject({ committedBytes: 0, entryCount: 0 });
    expect(world.requests).toEqual([]);
  });

  it('that must wait has its reconcile requested, and its reservation taken back', async () => {
    await world.entry(await world.mark({ [oid]: 10 }));
    expect(await push(10)).toBe('retry');
    expect(world.requests).toEqual([
      { tenant, reason: 'upload', full: false },
      { tenant, reason: 'refusal', full: false },
    ]);
    expect(world.reservations).toEqual([]);
  });

  it('waits for at least two seconds, with a jitter of as much', async () => {
    const waits: number[] = [];
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 10]]) };
    vi.spyOn(world.ledger, 'issueReservation').mockResolvedValue('gone');
    for (let turn = 0; turn < 50; turn += 1) {
      const outcome = await admitUpload(world.deps, input);
      if (outcome.kind === 'retry') waits.push(outcome.retryAfterMs);
      await world.consume();
      world.ledger.addUnconditionally(tenant, -(await world.record()).committedBytes);
    }
    const { retryAfterMs } = defaultSettings;
    expect(waits).toHaveLength(50);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(retryAfterMs);
    expect(Math.max(...waits)).toBeLessThanOrEqual(2 * retryAfterMs);
    expect(new Set(waits).size).toBeGreaterThan(25);
  });

  it('has a reconcile in the background requested when it is admitted', async () => {
    await push(10);
    expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
  });

  it.each([
    ['of a tenant without a limit', null],
    ['that fits to the last byte', 10],
  ])(
    '%s has its reconcile requested while it is counted, in case its function dies after that',
    async (_, limit) => {
      world = new MemoryStack();
      await world.create(limit);
      vi.spyOn(world.ledger, 'deletionsOf').mockImplementationOnce(() => {
        throw new Error('The function died.');
      });
      await expect(push(10)).rejects.toThrow('The function died.');
      expect((await world.record()).committedBytes).toBe(10);
      expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
    },
  );

  it('that was not expected to fit has its reconcile requested once it is admitted', async () => {
    world.ledger.addUnconditionally(tenant, 50);
    expect(await push(60)).toMatchObject(new Map([[oid, { kind: 'upload' }]]));
    expect(world.requests).toEqual([{ tenant, reason: 'upload', full: false }]);
  });

  it('is admitted up to a million claims of its tenant, its own included', async () => {
    const push = async (entryCount: number) => {
      const record = { ...(await world.record()), entryCount, entriesCounted: entryCount };
      return admitUpload(world.deps, { tenant: record, repo: 'app', objects: new Map([[oid, 10]]) });
    };
    expect(await push(999_999)).toMatchObject({ kind: 'retry' });
    expect(world.requests).toEqual([{ tenant, reason: 'refusal', full: false }]);
    expect(await push(999_998)).toMatchObject({ kind: 'answered' });
  });

  it('is told to come again after minutes if others have claimed a million meanwhile', async () => {
    const { addCommitted } = world.ledger;
    vi.spyOn(world.ledger, 'addCommitted').mockImplementationOnce(async (input) => {
      const theirs = { sumBytes: 0, entryCount: 999_999, entriesMax: 1_000_000 };
      await addCommitted.call(world.ledger, { ...input, ...theirs });
      return addCommitted.call(world.ledger, input);
    });
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 10]]) };
    const outcome = await admitUpload(world.deps, input);
    expect(outcome).toMatchObject({ kind: 'retry' });
    if (outcome.kind === 'retry') expect(outcome.retryAfterMs).toBeGreaterThanOrEqual(4 * minute);
    expect(world.reservations).toEqual([]);
    expect(world.requests.at(-1)).toMatchObject({ reason: 'refusal' });
  });

  it('counts its reservation and its entries in the write that counts its bytes', async () => {
    await world.push('app', { [oid]: 10, [oidOf(2)]: 20 });
    expect(await world.record()).toMatchObject({ entryCount: 3 });
    await world.consume();
    expect(await world.record()).toMatchObject({ entryCount: 3 });
    await world.push('app', { [oidOf(3)]: 5 });
    expect(await world.record()).toMatchObject({ entryCount: 5 });
  });

  it('counts the entries of empty objects, which fit above any limit', async () => {
    await world.push('app', { [oid]: 100 });
    expect(await world.kinds('app', { [oidOf(2)]: 0, [oidOf(3)]: 0 })).toBe('upload upload');
    expect(await world.record()).toMatchObject({ entryCount: 2 + 3, committedBytes: 100 });
  });

  it('of a tenant that was closed meanwhile gets nothing', async () => {
    const input = { tenant: await world.record(), repo: 'app', objects: new Map([[oid, 10]]) };
    await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    expect(await admitUpload(world.deps, input)).toEqual({ kind: 'absent' });
  });

  it('of a tenant that is not there gets nothing', async () => {
    vi.spyOn(world.ledger, 'addCommitted').mockResolvedValueOnce({ kind: 'absent' });
    expect(await push(10)).toBe('absent');
  });

  it('is admitted in part, in the order of the request', async () => {
    expect(await world.kinds('app', { [oid]: 60, [oidOf(2)]: 50, [oidOf(3)]: 40 })).toBe(
      'upload over-limit upload',
    );
    const [reservation] = world.reservations;
    expect(reservation).toMatchObject({
      state: 'issued',
      entries: new Map([
        [oid, 60],
        [oidOf(3), 40],
      ]),
    });
    expect((await world.record()).committedBytes).toBe(100);
  });
});

describe('find stored for upload', () => {
  const [tenant, repo] = ['acme', 'app'];
  const oidOf = (index: number) => `${index.toString(16).padStart(4, '0')}${'0'.repeat(60)}`;
  const range = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

  describe('a push of many objects', () => {
    let made: ScanningDeps;
    const read = async () => {
      const record = await made.ledger.readTenant(tenant);
      if (!record) throw new Error('There is no tenant.');
      return record;
    };
    /** Asks for objects of a few bytes. */
    const ask = async (
      indexes: readonly number[],
      more: { sizeBytes?: number; repoObjects?: number; knownObjects?: KnownObjects } = {},
    ) => {
      const { sizeBytes = 10, repoObjects = 0, knownObjects = made.deps.knownObjects } = more;
      const record = await read();
      made.calls.length = 0;
      const objects = new Map(indexes.map((index) => [oidOf(index), sizeBytes]));
      const deps = { ...made.deps, knownObjects };
      const { result } = await made.measure(() =>
        admitUpload(deps, { tenant: record, repo, repoObjects, objects }),
      );
      if (result.kind !== 'answered') throw new Error(`Answered ${result.kind}.`);
      const kinds = [...result.verdicts.values()].map(({ kind }) => kind);
      const count = (name: string) => made.calls.filter((call) => call.name === name).length;
      return { kinds: [...new Set(kinds)], lists: count('LIST'), heads: count('HEAD') };
    };
    const put = (index: number, sizeBytes = 10) =>
      made.store.put(`${tenant}/${repo}/${oidOf(index)}`, sizeBytes);
    const unasked = { kinds: ['upload'], lists: 0, heads: 0 };

    beforeEach(async () => {
      made = new ScanningDeps({ tableMs: 10, headMs: 10, listMs: 10 });
      const scanned = { storedBytes: 0, objectCount: 0, scannedAtMs: 0 };
      await made.ledger.createTenant(newTenant(tenant, { scanned }));
    });

    it('lists the repo once, and takes what that listing had not for new', async () => {
      expect(await ask(range(0, 100))).toEqual({ kinds: ['upload'], lists: 1, heads: 0 });
      expect(await ask(range(100, 100))).toEqual(unasked);
      await made.advance(60_001);
      expect(await ask(range(200, 100))).toMatchObject({ lists: 1 });
    });

    it('asks again for what it has offered, in case it has arrived, and says so', async () => {
      await ask(range(0, 100));
      for (const index of range(0, 3)) put(index);
      expect(await ask([0, 1, 2, 500])).toEqual({ kinds: ['stored', 'upload'], lists: 0, heads: 3 });
    });

    it('takes what was listed a moment ago for stored, without asking', async () => {
      for (const index of range(0, 200)) put(index);
      const stored = { kinds: ['stored'], heads: 0 };
      expect(await ask(range(0, 100), { repoObjects: 200 })).toEqual({ ...stored, lists: 1 });
      await made.advance(made.deps.settings.listingTrustMs - 100);
      expect(await ask(range(100, 100), { repoObjects: 200 })).toEqual({ ...stored, lists: 0 });
      await made.advance(101);
      expect(await ask(range(0, 100), { repoObjects: 200 })).toEqual({ ...stored, lists: 1 });
    });

    it('asks only for what it does not know', async () => {
      for (const index of range(0, 20)) put(index);
      await ask(range(0, 20), { repoObjects: 20 });
      await ask([20], { repoObjects: 20 });
      put(20);
      expect(await ask([0, 1, 20, 21], { repoObjects: 20 })).toEqual({
        kinds: ['stored', 'upload'],
        lists: 0,
        heads: 1,
      });
    });

    it('is told the stored size of what was listed', async () => {
      for (const index of range(0, 20)) put(index, 9);
      await ask(range(100, 20), { repoObjects: 20 });
      expect(await ask(range(0, 2))).toEqual({ kinds: ['size-conflict'], lists: 0, heads: 0 });
    });

    it('waits if what was listed has been deleted since, and then asks again: who is told "stored" must not lose it', async () => {
      for (const index of range(0, 20)) put(index);
      await ask(range(0, 20), { repoObjects: 20 });
      const deletion = newDeletion({ id: 'd', repo, objects: new Map([[oidOf(0), 10]]), dueAtMs: 0 });
      await made.ledger.putDeletion({ tenant, deletion });
      await made.measure(() => runDeletion(made.deps, { tenant, deletion, isClosed: false }));
      await expect(ask([0, 1])).rejects.toThrow('Answered retry.');
      expect(await ask([0, 1])).toEqual({ kinds: ['stored', 'upload'], lists: 0, heads: 2 });
    });

    it('asks for each object of a MiB or more', async () => {
      await ask(range(0, 100));
      expect(await ask(range(100, 5), { sizeBytes: 1024 ** 2 - 1 })).toEqual(unasked);
      expect(await ask(range(200, 5), { sizeBytes: 1024 ** 2 })).toMatchObject({ lists: 0, heads: 5 });
    });

    it('asks for everything if it might not fit', async () => {
      await ask(range(0, 100));
      await updateTenant(made.ledger, { tenant, limitBytes: 1100 });
      expect(await ask(range(100, 10))).toEqual(unasked);
      expect(await ask([200], { sizeBytes: 0 })).toEqual(unasked);
      put(300);
      expect(await ask([300])).toEqual({ kinds: ['stored'], lists: 0, heads: 1 });
    });

    it('asks for everything if it might not fit within a limit of the repo', async () => {
      await ask(range(0, 100));
      const headsWith = async (limited: string) => {
        const { settingsVersion } = await read();
        await made.ledger.setRepoLimit({ tenant, repo: limited, limitBytes: 1, settingsVersion });
        const record = await read();
        made.calls.length = 0;
        const objects = new Map([[oidOf(300), 10]]);
        await made.measure(() =>
          findStoredForUpload(made.deps, { tenant: record, repo, repoObjects: 0, objects }),
        );
        return made.calls.filter(({ name }) => name === 'HEAD').length;
      };
      expect(await headsWith('another')).toBe(0);
      expect(await headsWith(repo)).toBe(1);
    });

    it('is asked for by another process, which knows nothing', async () => {
      await ask(range(0, 100));
      put(100);
      const other = await ask(range(100, 20), { knownObjects: new KnownObjects() });
      expect(other).toEqual({ kinds: ['stored', 'upload'], lists: 1, heads: 0 });
    });
  });
});

describe('keep from deletion', () => {
  const repo = 'app';
  const sizes = (...oids: string[]) => new Map(oids.map((oid) => [oid, 1]));
  const many = Array.from({ length: 2 * unmarkedObjectsMax + 1 }, (_, index) => oidOf(index));

  describe.each([
    ['read one after the other', 0],
    ['asked for by name', 10_000],
  ])('a batch that asks for objects of a deletion, %s,', (_title, deletionCount) => {
    let world: MemoryStack;
    const keep = (names: string[], stored: string[] = []) =>
      keepFromDeletion(world.deps, {
        tenant,
        repo,
        deletionCount,
        names: sizes(...names),
        stored: sizes(...stored),
      });
    const put = async (
      id: string,
      oids: string[],
      state: 'scheduled' | 'deleting' | 'deleted',
      of = repo,
    ) => {
      const deletion = newDeletion({ id, repo: of, objects: sizes(...oids), dueAtMs: 0 });
      await world.ledger.putDeletion({ tenant, deletion });
      if (state === 'scheduled') return;
      const deadlineMs = world.nowMs + minute;
      await world.ledger.claimDeletion({ tenant, before: deletion, deadlineMs });
      const end = { tenant, repo: of, deletionId: id, deadlineMs, left: new Map(), dueAtMs: 0 };
      if (state === 'deleted') await world.ledger.endDeletion({ ...end, keptUntilMs: deadlineMs });
    };
    const left = async () => (await world.deletions()).map(({ objects }) => [...objects.keys()]);

    beforeEach(async () => {
      world = new MemoryStack();
      await world.create();
    });

    it('takes them out of every one that is marked, and leaves the others in it', async () => {
      await put('d1', ['a', 'b'], 'scheduled');
      await put('d2', ['b', 'c'], 'scheduled');
      expect(await keep(['b', 'x'])).toBe('kept');
      expect(await left()).toEqual([['a'], ['c']]);
    });

    it('writes nothing if it asks for none of them, in whatever state that is', async () => {
      await put('d1', ['a'], 'scheduled');
      await put('d2', ['b'], 'deleting');
      await put('d3', ['x'], 'deleting', 'web');
      const unmark = vi.spyOn(world.ledger, 'unmark');
      expect(await keep(['x'], ['x'])).toBe('kept');
      expect(unmark).not.toHaveBeenCalled();
    });

    it('waits while one of them is being deleted, stored or not', async () => {
      await put('d1', ['a'], 'deleting');
      const unmark = vi.spyOn(world.ledger, 'unmark');
      expect(await keep(['a'])).toBe('deleting');
      expect(await keep(['a'], ['a'])).toBe('deleting');
      expect(unmark).not.toHaveBeenCalled();
    });

    it('waits if one is gone that the store said it had, and uploads it again if not', async () => {
      await put('d1', ['a'], 'deleted');
      expect(await keep(['a'], ['a'])).toBe('deleting');
      expect(await keep(['a'])).toBe('kept');
      expect(await left()).toEqual([['a']]);
    });

    it('waits for what is gone by what its name begins with, if the store said it had it', async () => {
      const [gone, other] = ['a'.repeat(64), 'b'.repeat(64)];
      const prefixes = prefixText([gone]);
      const deletion = newDeletion({ id: 'd1', repo, objects: new Map(), dueAtMs: 0 });
      const deadlineMs = world.nowMs + minute;
      await world.ledger.putDeletion({
        tenant,
        deletion: { ...deletion, state: 'deleted', deadlineMs, prefixes },
      });
      expect(await keep([gone, other], [gone, other])).toBe('deleting');
      expect(await keep([gone, other], [other])).toBe('kept');
      world.nowMs = deadlineMs + 2 * world.deps.settings.clockSkewMs + 1;
      expect(await keep([gone], [gone])).toBe('kept');
    });

    it('waits no longer for what is gone once its record is no concern of theirs, by every clock', async () => {
      await put('d1', ['a'], 'deleted');
      world.nowMs += minute + 2 * world.deps.settings.clockSkewMs;
      expect(await keep(['a'], ['a'])).toBe('deleting');
      world.nowMs += 1;
      expect(await keep(['a'], ['a'])).toBe('kept');
    });

    it('waits for what is being deleted, however long that takes', async () => {
      await put('d1', ['a'], 'deleting');
      world.nowMs += 60 * minute;
      expect(await keep(['a'])).toBe('deleting');
    });

    it.each([
      ['no more', many, [unmarkedObjectsMax, unmarkedObjectsMax, 1]],
      ['all that just fits', many.slice(0, unmarkedObjectsMax), [unmarkedObjectsMax]],
    ])('takes %s out with one write', async (_, names, expected) => {
      await put('d1', names, 'scheduled');
      const unmark = vi.spyOn(world.ledger, 'unmark');
      expect(await keep(names)).toBe('kept');
      expect(unmark.mock.calls.map(([input]) => input.names.length)).toEqual(expected);
      expect(await left()).toEqual([[]]);
    });

    it('stops and waits if a deleter claims it in between', async () => {
      await put('d1', many, 'scheduled');
      const unmark = vi.spyOn(world.ledger, 'unmark').mockResolvedValue('refused');
      expect(await keep(many)).toBe('deleting');
      expect(unmark).toHaveBeenCalledTimes(1);
    });
  });
});
