import { beforeEach, describe, expect, it } from 'vitest';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import { sha256Hex } from '../../../../../lambda/core/rules/hash.ts';
import { prefixesOf } from '../../../../../lambda/core/rules/prefix-set.ts';
import { type ListPageRequest, StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import type { GcDeps } from '../../../../../lambda/subjects/gc/gc.ts';
import { decodeCandidates, newGc, reachableSetKey } from '../../../../../lambda/subjects/gc/rules/gc.ts';
import { selectCandidates } from '../../../../../lambda/subjects/gc/select-candidates.ts';
import { GappyListing } from '../../../../support/gappy-listing.ts';
import { reservation } from '../../../../support/ledger-records.ts';
import { tenant } from '../../../../support/memory/stack.ts';
import { Random } from '../../../../support/random.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { startsWithinPrefix } from '../../../../support/starts-within-prefix.ts';
import { GcWorld, hour, oidAt, path, repo } from './gc-world.ts';

describe('the choice of candidates', () => {
  let world: GcWorld;
  const select = async (more: Partial<GcDeps> = {}) =>
    selectCandidates({ ...world.deps, ...more }, { tenant, gc: await world.gc(), untilMs: 9e15 });
  /** Of the repo: its own files are listed as ever. */
  const listingWith = (ofRepo: GcDeps['listing']['listPage']) => {
    const { listing } = world.deps;
    const listPage: typeof ofRepo = (request) =>
      request.prefix.startsWith(`${tenant}/`) ? ofRepo(request) : world.objects.listPage(request);
    return { listing: { ...listing, listPage } };
  };
  /** Every candidate of every file, in order. */
  const written = async () => {
    const files = (await world.files()).filter((key) => key.includes('/candidates-'));
    const read = files.map(
      async (key) => decodeCandidates((await world.deps.archives.get(key)) ?? Buffer.of()) ?? [],
    );
    return (await Promise.all(read)).flat();
  };

  beforeEach(async () => {
    world = await GcWorld.with([0, 1, 2, 3, 4, 5]);
    await world.opened();
  });

  it('needs a run', async () => {
    const gc = newGc({ repo, watch: { id: 'w', openedAtMs: 1, untilMs: 2 } });
    await expect(selectCandidates(world.deps, { tenant, gc, untilMs: 9e15 })).rejects.toThrow(
      'without a run',
    );
  });

  it('covers all of a repo, however many pages that takes', async () => {
    const many = Array.from({ length: 70 }, (_, index) => sha256Hex(`more ${index}`));
    for (const oid of many) world.objects.put(`${tenant}/${repo}/${oid}`, 2, undefined, 0);
    await world.run([0]);
    const paged = listingWith((request) => world.objects.listPage({ ...request, maxKeys: 2 }));
    expect(await select(paged)).toMatchObject({
      selection: { files: 1, listed: { objectCount: 76 }, candidates: { objectCount: 75, bytes: 160 } },
    });
    const found = await written();
    expect(new Set(found.map(({ oid }) => oid)).size).toBe(75);
    expect(found).toHaveLength(75);
  });

  it('covers all of a repo, though pages are empty with more to follow', async () => {
    await world.run([0]);
    const options = { gapChance: 0.6, pageSize: 2 };
    for (let seed = 0; seed < 20; seed += 1) {
      world.nowMs += hour;
      const before = await world.gc();
      const listing = new GappyListing(world.objects, new Random(seed), options);
      expect(await select({ listing })).toMatchObject({ selection: { listed: { objectCount: 6 } } });
      const { version } = await world.gc();
      await world.gcRuns.put({ tenant, gc: before, versionRead: version, writeId: `${seed}` });
    }
  });

  /** The first pages of a shard fail. @returns the listing, and how often that page was asked for. */
  const failing = (times: number, error: Error) => {
    let asked = 0;
    const listing = listingWith(async (request: ListPageRequest) => {
      if (!request.prefix.endsWith('/a')) return world.objects.listPage(request);
      asked += 1;
      if (asked <= times) throw error;
      return world.objects.listPage(request);
    });
    return { listing, asked: () => asked };
  };
  const busy = new StoreUnavailableError('It is busy.');

  it('asks for a page again, up to four times in six seconds', async () => {
    await world.run([0]);
    const { listing, asked } = failing(3, busy);
    const beganMs = world.nowMs;
    expect(await select(listing)).toMatchObject({ state: 'deleting' });
    expect([asked(), world.nowMs - beganMs]).toEqual([4, 6_000]);
  });

  it.each([
    ['gives up on a page that fails a fourth time', busy, 4],
    ['asks once for a page if what failed was not the store', new Error('A bug.'), 1],
  ])('%s', async (_, error, times) => {
    await world.run([0]);
    const { listing, asked } = failing(9, error);
    await expect(select(listing)).rejects.toThrow(error);
    expect(asked()).toBe(times);
    expect(await world.gc()).toMatchObject({ state: 'selecting', selection: null });
  });

  it('asks again for a page that failed at the very moment at which the time is up', async () => {
    await world.run([0]);
    const untilMs = world.nowMs + hour;
    let asked = 0;
    const late = listingWith(async (request) => {
      asked += 1;
      if (asked > 1) return world.objects.listPage(request);
      world.nowMs = untilMs;
      throw new StoreUnavailableError('It is busy.');
    });
    const gc = await world.gc();
    const after = await selectCandidates({ ...world.deps, ...late }, { tenant, gc, untilMs });
    expect(after).toMatchObject({ state: 'deleting' });
    expect(asked).toBe(17);
  });

  it('lists no other page once one has failed for good', async () => {
    for (let index = 0; index < 300; index += 1)
      world.objects.put(`${tenant}/${repo}/${sha256Hex(`many ${index}`)}`, 1, undefined, 0);
    await world.run([0]);
    let asked = 0;
    const broken = listingWith(async (request) => {
      asked += 1;
      if (request.prefix.endsWith('/0')) throw new Error('A bug.');
      return world.objects.listPage({ ...request, maxKeys: 3 });
    });
    await expect(select(broken)).rejects.toThrow('A bug.');
    expect(asked).toBe(16);
  });

  it('names no start that does not begin with the prefix: a store may list nothing after that', async () => {
    await world.run([0]);
    const listing = startsWithinPrefix(world.objects);
    expect(await select({ listing })).toMatchObject({ selection: { listed: { objectCount: 6 } } });
  });

  it('takes none if batches have named more than one set holds, and says what to do', async () => {
    await world.run([0]);
    const prefixes = Buffer.alloc(8 * 100_000).toString('base64');
    world.ledger.seen = async function* () {
      for (let page = 0; page < 51; page += 1) yield [{ beganMs: world.nowMs, prefixes }];
    };
    const { log, entries } = recordingLog();
    const after = await select({ log });
    expect(after).toMatchObject({
      state: 'watching',
      selection: null,
      failure: { reason: 'too-many-names' },
    });
    expect(after !== 'waiting' && after.failure?.message).toContain('Cancel it, and open another');
    expect(entries).toEqual([
      {
        level: 'info',
        message: 'gc run selected',
        fields: { tenant, repo, isDryRun: false, failure: 'too-many-names' },
      },
    ]);
  });

  it('fails with the ledger that does not say what batches have named', async () => {
    await world.run([0]);
    world.ledger.seen = () => {
      throw new LedgerUnavailableError('It is down.');
    };
    await expect(select()).rejects.toThrow(LedgerUnavailableError);
  });

  it.each([
    ['of another size than was said', () => world.run([0], { reachableCount: 2 })],
    [
      'that was never sent, though it was to be empty',
      async () => {
        await world.run([]);
        for (const key of await world.files()) await world.objects.delete([key]);
      },
    ],
    [
      'of other bytes than were said',
      async () => {
        await world.run([0]);
        await world.deps.archives.put(reachableSetKey(path), prefixesOf([oidAt(1)]));
      },
    ],
  ])('takes none by a reachable set %s, and says what to do', async (_, prepare) => {
    await prepare();
    const failure = { reason: 'no-reachable-set', message: expect.stringContaining('Run it again.') };
    expect(await select()).toMatchObject({ state: 'watching', failure });
  });

  it('passes over what is no object of git-lfs, though its name begins like one', async () => {
    for (const name of ['a.txt', oidAt(6).slice(1), `${oidAt(7)}.bak`])
      world.objects.put(`${tenant}/${repo}/${name}`, 100, undefined, 0);
    await world.run([0]);
    expect(await select()).toMatchObject({ selection: { listed: { objectCount: 6, bytes: 21 } } });
    expect(await written()).toHaveLength(5);
  });

  it('takes what only a lapsed reservation claims', async () => {
    for (const [index, lapsedAtMs] of [
      [2, world.nowMs - 1],
      [3, world.nowMs + hour],
    ] as const) {
      const entries = new Map([[oidAt(index), index + 1]]);
      const issued = reservation(`r${index}`, { repo, state: 'issued', entries, lapsedAtMs });
      await world.ledger.putReservation({ tenant, reservation: issued });
    }
    await world.run([0, 1]);
    await select();
    expect(new Set((await written()).map(({ oid }) => oid))).toEqual(new Set([2, 4, 5].map(oidAt)));
  });

  it('takes what is exactly as old as was asked for', async () => {
    world.putOld(6, hour);
    world.putOld(7, hour - 1);
    await world.run([0, 1, 2, 3, 4, 5], { minAgeMs: hour });
    expect(await select()).toMatchObject({
      selection: { kept: { objectCount: 6 }, young: { objectCount: 1, bytes: 8 }, candidates: { bytes: 7 } },
    });
    expect(await written()).toEqual([{ oid: oidAt(6), sizeBytes: 7 }]);
  });

  it('writes no file if there is none', async () => {
    await world.run([0, 1, 2, 3, 4, 5]);
    expect(await select()).toMatchObject({
      selection: { files: 0, candidates: { objectCount: 0, bytes: 0 } },
    });
    expect(await written()).toEqual([]);
  });

  it('shows the ten largest, the largest first', async () => {
    const sizes = [7, 3, 9, 1, 12, 5, 11, 2, 8, 10, 4, 6];
    const empty = await GcWorld.with([]);
    // In the order of the listing, so that larger ones come before and after smaller ones.
    const oids = sizes.map((_, index) => index.toString(16).padStart(64, 'a'));
    for (const [index, oid] of oids.entries())
      empty.objects.put(`${tenant}/${repo}/${oid}`, sizes[index] ?? 0, undefined, 0);
    world = empty;
    await world.opened();
    await world.run([]);
    const after = await select();
    const largest = after !== 'waiting' && after.selection?.largest.map(({ sizeBytes }) => sizeBytes);
    expect(largest).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3]);
  });

  it('is written to files of ten thousand lines', async () => {
    for (let index = 0; index < 10_001; index += 1)
      world.objects.put(`${tenant}/${repo}/${sha256Hex(`many ${index}`)}`, 1, undefined, 0);
    await world.run([0, 1, 2, 3, 4, 5]);
    expect(await select()).toMatchObject({ selection: { files: 2, candidates: { objectCount: 10_001 } } });
    const found = await written();
    expect(new Set(found.map(({ oid }) => oid)).size).toBe(10_001);
    const lengths = await Promise.all(
      (await world.files())
        .filter((key) => key.includes('/candidates-'))
        .map(async (key) => decodeCandidates((await world.deps.archives.get(key)) ?? Buffer.of())?.length),
    );
    expect(lengths).toEqual([10_000, 1]);
  });

  it('tells what it found, and from when on names are to be read anew', async () => {
    await world.run([0], { isDryRun: true });
    const { log, entries } = recordingLog();
    expect(await select({ log })).toMatchObject({ selection: { seenAtMs: world.nowMs } });
    expect(entries).toEqual([
      {
        level: 'info',
        message: 'gc run selected',
        fields: {
          tenant,
          repo,
          isDryRun: true,
          listed: { objectCount: 6, bytes: 21 },
          candidates: { objectCount: 5, bytes: 20 },
        },
      },
    ]);
  });

  it('is looked at again a minute later if whoever makes it dies', async () => {
    await world.run([0]);
    world.nowMs += hour;
    const down = listingWith(async () => {
      throw new Error('It dies.');
    });
    await expect(select(down)).rejects.toThrow('It dies.');
    expect((await world.gc()).dueAtMs).toBe(world.nowMs + 60_000);
  });

  it('waits if somebody changed the gc run before it began, and lists nothing', async () => {
    await world.run([0]);
    const gc = await world.gc();
    await world.gcRuns.put({ tenant, gc, versionRead: gc.version, writeId: 'other' });
    const unused = listingWith(async () => {
      throw new Error('Nothing is to be listed.');
    });
    expect(await selectCandidates({ ...world.deps, ...unused }, { tenant, gc, untilMs: 9e15 })).toBe(
      'waiting',
    );
  });

  it('waits if somebody changed the gc run while it was made', async () => {
    await world.run([0]);
    let isChanged = false;
    const changing = listingWith(async (request) => {
      const gc = await world.gc();
      if (!isChanged) {
        isChanged = true;
        await world.gcRuns.put({
          tenant,
          gc: { ...gc, state: 'cancelled' },
          versionRead: gc.version,
          writeId: 'other',
        });
      }
      return world.objects.listPage(request);
    });
    const { log, entries } = recordingLog();
    expect(await select({ ...changing, log })).toBe('waiting');
    expect(await world.gcRuns.read(path)).toMatchObject({ state: 'cancelled', selection: null });
    expect(entries).toEqual([]);
  });
});
