import { beforeEach, describe, expect, it } from 'vitest';
import { findStored, remembering } from '../../../../../lambda/core/scan/find-stored.ts';
import { KnownObjects, knownObjectsMax } from '../../../../../lambda/core/scan/rules/known-objects.ts';
import { StoreUnavailableError } from '../../../../../lambda/core/store/rules/store.ts';
import { ScanningDeps } from '../../../../support/memory/counting-deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const tenant = 'acme';
const repo = 'app';
/** Oids that are spread over the key space, as hashes are. */
const oidOf = (index: number) =>
  `${((index * 2_654_435_761) % 2 ** 32).toString(16).padStart(8, '0')}${'0'.repeat(56)}`;

describe('what a repo has of some objects', () => {
  let made: ScanningDeps;
  const fill = (count: number) => {
    for (let index = 0; index < count; index += 1) made.store.put(`${tenant}/${repo}/${oidOf(index)}`, index);
    made.store.put(`${tenant}/${repo}2/${oidOf(0)}`, 99);
  };
  const ask = async (indexes: readonly number[], repoObjects: number | undefined) => {
    const question = { tenant, repo, oids: indexes.map(oidOf), repoObjects };
    const { result, elapsedMs } = await made.measure(() => findStored(made.deps, question));
    const count = (name: string) => made.calls.filter((call) => call.name === name).length;
    return { result, elapsedMs, lists: count('LIST'), heads: count('HEAD') };
  };
  const indexes = (from: number, count: number) => Array.from({ length: count }, (_, index) => from + index);

  beforeEach(() => {
    made = new ScanningDeps({ tableMs: 10, headMs: 10, listMs: 10 });
  });

  it('is found by one LIST, with the sizes', async () => {
    fill(500);
    const { result, lists, heads } = await ask([...indexes(490, 10), ...indexes(500, 3)], 500);
    expect(result).toEqual(new Map(indexes(490, 10).map((index) => [oidOf(index), index])));
    expect([lists, heads]).toEqual([1, 0]);
  });

  it('is found by HEAD if that is cheaper', async () => {
    fill(20);
    const { result, lists, heads } = await ask(indexes(15, 10), 20);
    expect(result).toEqual(new Map(indexes(15, 5).map((index) => [oidOf(index), index])));
    expect([lists, heads]).toEqual([0, 10]);
  });

  it('is found in one round trip by several LISTs at once if the count is about right', async () => {
    fill(5000);
    const { result, lists, heads, elapsedMs } = await ask(indexes(4950, 100), 5000);
    expect([...result.keys()].sort()).toEqual(indexes(4950, 50).map(oidOf).sort());
    expect(heads).toBe(0);
    expect(lists).toBeLessThanOrEqual(8);
    expect(elapsedMs).toBe(10);
  });

  it.each([
    ['an old count', 100, 8],
    ['no count', undefined, 1],
  ])(
    'is right with %s: no more LISTs than the HEADs would cost, and HEADs for what is left',
    async (_, count, max) => {
      fill(20_000);
      const { result, lists, heads } = await ask(indexes(19_950, 100), count);
      expect(result).toEqual(new Map(indexes(19_950, 50).map((index) => [oidOf(index), index])));
      expect(lists).toBeGreaterThan(0);
      expect(lists).toBeLessThanOrEqual(max);
      expect(heads).toBeGreaterThan(0);
      expect(heads).toBeLessThanOrEqual(100);
    },
  );

  it('is found by HEAD if the store does not list', async () => {
    fill(30);
    const scan = { scan: () => Promise.reject(new StoreUnavailableError('No LIST today.')) };
    const question = { tenant, repo, oids: indexes(20, 20).map(oidOf), repoObjects: 30 };
    const { log, entries } = recordingLog();
    const { result } = await made.measure(() => findStored({ ...made.deps, scan, log }, question));
    expect(result).toEqual(new Map(indexes(20, 10).map((index) => [oidOf(index), index])));
    expect(entries).toEqual([
      {
        level: 'warn',
        message: 'repo not listed for a batch; checking its objects individually',
        fields: { tenant, repo },
      },
    ]);
  });

  it('is asked by HEAD for what lies in the ranges that no LIST has reached, and for nothing else', async () => {
    const open = (after: string | null, last: string | null) => ({ after, last });
    const rest = {
      prefix: `${tenant}/${repo}/`,
      ranges: [open(null, 'b'), open('d', 'f'), open('x', null)],
      seen: [['e', 5] as const, ['c', 3] as const],
      storedBytes: 8,
      objectCount: 2,
      requests: 1,
      isSequential: false,
      objectsExpected: null,
    };
    const scan = { scan: async () => ({ kind: 'unfinished', requests: 1, rest }) as const };
    const heads: string[] = [];
    const store = {
      ...made.deps.store,
      head: async (key: string) => {
        heads.push(key);
        return key.endsWith('f') ? { sizeBytes: 6, sha256: undefined } : undefined;
      },
    };
    const oids = [...'abcdefgwxyz', 'ba', 'dd'];
    const found = await findStored({ ...made.deps, scan, store }, { tenant, repo, oids, repoObjects: 2 });
    expect(heads.map((key) => key.slice(rest.prefix.length)).sort()).toEqual(['a', 'b', 'dd', 'f', 'y', 'z']);
    expect(found).toEqual(
      new Map([
        ['e', 5],
        ['c', 3],
        ['f', 6],
      ]),
    );
  });

  it('is found by LIST each time while the store lists fast', async () => {
    await made.advance(60 * 60_000);
    fill(30);
    for (let time = 0; time < 2; time += 1)
      expect(await ask(indexes(0, 20), 30)).toMatchObject({ lists: 1, heads: 0 });
  });

  it('is no answer if the scan has a mistake', async () => {
    const scan = { scan: () => Promise.reject(new TypeError('A mistake of ours.')) };
    const question = { tenant, repo, oids: indexes(0, 20).map(oidOf), repoObjects: 30 };
    await expect(findStored({ ...made.deps, scan }, question)).rejects.toThrow('A mistake of ours.');
  });

  it('is found by HEAD while the store lists slowly, and by LIST again ten minutes later', async () => {
    made = new ScanningDeps({ tableMs: 10, headMs: 10, listMs: 1500 });
    fill(30);
    expect(await ask(indexes(0, 20), 30)).toMatchObject({ lists: 1, heads: 0 });
    expect(await ask(indexes(0, 20), 30)).toMatchObject({ lists: 0, heads: 20 });
    await made.advance(10 * 60_000);
    expect(await ask(indexes(0, 20), 30)).toMatchObject({ lists: 1, heads: 0 });
  });

  it('is complete if the listing takes longer than a batch can wait: the rest is found by HEAD', async () => {
    made = new ScanningDeps({ tableMs: 10, headMs: 10, listMs: 2000 });
    fill(5000);
    const { result, elapsedMs } = await ask(indexes(4900, 100), 2000);
    expect(result.size).toBe(100);
    expect(elapsedMs).toBeLessThan(8000);
  });

  it.each([
    [knownObjectsMax, 1],
    [knownObjectsMax + 1, 0],
    [undefined, 1],
  ])('is listed whole to be remembered only if that fits: %s objects', async (repoObjects, remembered) => {
    fill(30);
    const known = new KnownObjects();
    const path = `${tenant}/${repo}`;
    const question = { tenant, repo, oids: indexes(0, 20).map(oidOf), repoObjects: 30 };
    const asked = { ...question, ...remembering(known, { path, repoObjects, listedAtMs: 1 }) };
    await made.measure(() => findStored(made.deps, asked));
    expect(known.of(path, 1)?.size ?? 0).toBe(30 * remembered);
  });
});
