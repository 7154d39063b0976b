import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Checkpoint, CheckpointFile } from '../../../../cli/du/checkpoint.ts';
import { GroupSums, shownGroups } from '../../../../cli/du/groups.ts';
import { ListedBuckets } from '../../../support/listed-buckets.ts';
import { LyingStore } from '../../../support/lying-store.ts';
import { RoundListing } from '../../../support/round-listing.ts';
import { credentials } from '../../../support/store-fixture.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { cli } from '../harness.ts';

const tempFolder = useTempFolders();

const KiB = 1024;
const dayMs = 86_400_000;
/** What `cli` takes for now is far from these times, so ages are counted by the test's own. */
const days = (count: number) => Math.trunc(Date.now() - count * dayMs);

const objects = [
  { key: 'a/one.psd', sizeBytes: 64 * KiB, lastModifiedMs: days(1) },
  { key: 'a/two.PSD', sizeBytes: 128 * KiB, lastModifiedMs: days(45) },
  { key: 'b/pack.zip', sizeBytes: 6 * KiB ** 3, lastModifiedMs: days(100) },
  { key: 'b/readme', sizeBytes: 0, lastModifiedMs: days(200) },
  { key: 'c/old.zip', sizeBytes: 20 * KiB ** 2, lastModifiedMs: days(400) },
  { key: 'c/x.log', sizeBytes: 1, lastModifiedMs: days(4000) },
];
const classes = new Map([
  ['b/pack.zip', 'GLACIER'],
  ['c/old.zip', 'STANDARD_IA'],
]);

const server = new ListedBuckets();
let store: LyingStore;
beforeAll(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
  server.add('few', objects);
  const { instead } = server.faults;
  store = await LyingStore.start({
    ...server.faults,
    instead: async (request, asked) => {
      const reply = await instead?.(request, asked);
      const body = String(reply?.body).replaceAll(/<Key>(.*?)<\/Key>.*?<\/Contents>/g, (entry, key: string) =>
        entry.replace('>STANDARD<', `>${classes.get(key) ?? 'STANDARD'}<`),
      );
      return reply && { ...reply, body };
    },
  });
});
afterAll(async () => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
  await store.stop();
});

const du = (...args: string[]) =>
  cli(['du', 's3://few', '--endpoint', store.url, ...args], { now: Date.now });

describe('du --by', () => {
  it('totals every kind in one pass', async () => {
    const plain = JSON.parse((await du('--json')).out);
    const { requests, by } = JSON.parse((await du('--json', '--by', 'size,class,suffix,age')).out);
    expect(requests).toBe(plain.requests);
    expect(plain.by).toBeUndefined();
    const counts = (groups: { group: string; objects: number }[]) =>
      groups.map(({ group, objects: count }) => `${group}: ${count}`);
    expect(counts(by.age)).toEqual([
      'under 30 days: 1',
      '30–90 days: 1',
      '90–180 days: 1',
      '180–365 days: 1',
      'over a year: 2',
    ]);
    expect(counts(by.size)).toEqual([
      'under 128 KiB: 3',
      '128 KiB–1 MiB: 1',
      '8–64 MiB: 1',
      '5 GiB and over: 1',
    ]);
    expect(by.class).toEqual([
      { group: 'GLACIER', objects: 1, bytes: 6 * KiB ** 3 },
      { group: 'STANDARD_IA', objects: 1, bytes: 20 * KiB ** 2 },
      { group: 'STANDARD', objects: 4, bytes: 192 * KiB + 1 },
    ]);
    expect(counts(by.suffix)).toEqual(['.zip: 2', '.psd: 2', '.log: 1', '(none): 1']);
  });

  it('counts ages from when the scan began, however much later another process goes on with it', async () => {
    const scan: Checkpoint['scan'] = {
      bucket: 'few',
      prefix: '',
      endpoint: store.url,
      order: 'parallel',
      folders: null,
      by: ['age'],
    };
    const name = path.join(tempFolder(), 'scan');
    const file = await CheckpointFile.open(name, scan);
    const checkpoint: Checkpoint = {
      scan,
      beganMs: days(60),
      savedMs: days(59),
      runs: 1,
      activeMs: 1,
      objects: 0,
      bytes: '0',
      requests: 0,
      failed: 0,
      throttled: 0,
      rest: { ranges: [{ after: null, last: null }], objectsExpected: null },
      folders: null,
      groups: [[]],
    };
    file.begin(() => checkpoint, { everyMs: 1e9, onFailure: () => {} });
    await file.end();
    await file.close();
    const { by } = JSON.parse((await du('--json', '--by', 'age', '--resume', name)).out);
    expect(by.age.map(({ objects: count }: { objects: number }) => count)).toEqual([2, 1, 1, 1, 1]);
  });

  it('draws bars, and shows the rest as one row', async () => {
    const { out } = await du('--by', 'suffix', '--top', '1', '--by-prefix');
    expect(out.split('\n\n')[2]).toBe(
      [
        '    SIZE   SHARE  OBJECTS  SUFFIX',
        '6.02 GiB  99.9 %        2  .zip    ████████████████████',
        ' 192 KiB   0.0 %        4  others  █',
        '',
      ].join('\n'),
    );
  });

  it('tells the size of objects from that of their group', async () => {
    expect((await du('--by', 'size')).out).toMatch(/^ +SIZE +SHARE +OBJECTS +OBJECT SIZE$/m);
  });

  it('takes kinds by commas, and each by itself', async () => {
    const { out } = await du('--by', 'class', '--json', '--by', 'age,suffix');
    expect(Object.keys(JSON.parse(out).by)).toEqual(['age', 'suffix', 'class']);
  });

  it.each([
    [['--by', 'colour'], 'Use age, suffix, class, size, or several of them by commas.'],
    [['--by', 'age,age'], 'Use age, suffix, class, size, or several of them by commas.'],
    [['--by', 'age', '--by', 'age'], 'Use age, suffix, class, size, or several of them by commas.'],
    [['--top', '3'], '--top needs --by, --by-prefix or --git.'],
  ])('%j is refused', async (args, message) => {
    const { code, err } = await du(...args);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  it("doesn't work with --git", async () => {
    expect((await cli(['du', '--git', '--by', 'age'])).err).toContain("--by doesn't work with --git.");
  });
});

describe('groups', () => {
  const pageOf = (count: number, suffixAt: (index: number) => string) => {
    const listed = Array.from({ length: count }, (_, index) => ({ key: `${1e6 + index}`, sizeBytes: 1 }));
    const page = new RoundListing(listed).pageOf({ prefix: '', maxKeys: count });
    return { page: { ...page, suffixAt }, keyCount: page.keyCount, sizeBytes: page.totalBytes };
  };

  it('are bounded: of too many suffixes, those that are found later are others', () => {
    const sums = new GroupSums({ by: 'suffix', nowMs: 0 });
    for (let part = 0; part < 30; part += 1) sums.add(pageOf(1000, (index) => `.${part * 1000 + index}`));
    sums.add(pageOf(5, () => '.7'));
    const kept = sums.keep();
    expect(kept).toHaveLength(10_001);
    const again = new GroupSums({ by: 'suffix', nowMs: 0 }, kept);
    again.add(pageOf(3, () => '.later'));
    expect(shownGroups('suffix', again.result, 1)).toEqual([
      { folder: '.7', objects: 6, bytes: 6n },
      { folder: 'others', objects: 30_002, bytes: 30_002n },
    ]);
  });

  it('have a place for objects whose time the store does not tell', () => {
    const sums = new GroupSums({ by: 'age', nowMs: Date.now() });
    sums.add(pageOf(2, () => ''));
    expect(shownGroups('age', sums.result, 9).at(-1)).toEqual({
      folder: 'unknown',
      objects: 2,
      bytes: 2n,
    });
  });
});
