import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { folderOf } from '../../../../cli/du/folders.ts';
import { bucketShapes } from '../../../support/bucket-shapes.ts';
import { ListedBuckets } from '../../../support/listed-buckets.ts';
import { LyingStore } from '../../../support/lying-store.ts';
import { hashNames } from '../../../support/round-listing.ts';
import { credentials } from '../../../support/store-fixture.ts';
import { cli } from '../harness.ts';

const server = new ListedBuckets();
let store: LyingStore;
let endpoint = '';
beforeAll(async () => {
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
  store = await LyingStore.start(server.faults);
  endpoint = store.url;
});
afterAll(async () => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
  await store.stop();
});
afterEach(() => server.reset());

const du = (url: string, ...args: string[]) => cli(['du', url, '--endpoint', endpoint, ...args]);

const shapes = bucketShapes.filter(({ title }) =>
  /3,000 folders|tree of 4|hashes, then|^letters beyond/.test(title),
);
const sizeOf = (index: number) => ((index * 7919) % 100_003) + 1;

describe.each(shapes)('the folders of $title', ({ names }) => {
  it.each([1, 2])('are exact with %i levels, and take no request more', async (depth) => {
    const objects = names().map((key, index) => ({ key, sizeBytes: sizeOf(index) }));
    server.add('shape', objects);
    const truth = new Map<string, { objects: number; bytes: number }>();
    for (const { key, sizeBytes } of objects) {
      const { folder } = folderOf(key, depth);
      const sum = truth.get(folder) ?? { objects: 0, bytes: 0 };
      truth.set(folder, { objects: sum.objects + 1, bytes: sum.bytes + sizeBytes });
    }
    // The store answers in no certain order, so with many requests at a time their number is not certain either.
    const plain = JSON.parse((await du('s3://shape', '--json', '--concurrency', '1')).out);
    const args = ['--by-prefix', '--depth', String(depth), '--top', '10', '--json'];
    const { folders, requests } = JSON.parse((await du('s3://shape', ...args, '--concurrency', '1')).out);
    expect(requests).toBe(plain.requests);
    const inOrder = [...truth]
      .map(([folder, sum]) => ({ folder, ...sum }))
      .sort((a, b) => b.bytes - a.bytes || (a.folder < b.folder ? -1 : 1));
    expect(folders).toMatchObject({ depth, count: truth.size, largest: inOrder.slice(0, 10) });
    const rest = inOrder.slice(10);
    expect(folders.smaller).toEqual({
      folders: rest.length,
      objects: rest.reduce((sum, folder) => sum + folder.objects, 0),
      bytes: rest.reduce((sum, folder) => sum + folder.bytes, 0),
    });
    const parallel = JSON.parse((await du('s3://shape', ...args)).out);
    expect(parallel.folders).toEqual(folders);
  });
});

describe('the table', () => {
  beforeAll(() => {
    server.add('few', [
      { key: 'readme.txt', sizeBytes: 1024 },
      { key: 'logs/a', sizeBytes: 3 * 1024 ** 2 },
      { key: 'logs/2026/x', sizeBytes: 2 * 1024 ** 2 },
      { key: 'logs/2026/y', sizeBytes: 1024 ** 2 },
      { key: 'logs\u0007/z', sizeBytes: 1 },
      { key: 'tmp/1', sizeBytes: 5 },
      { key: 'tmp/2/3', sizeBytes: 6 },
    ]);
  });
  const tableOf = async (...args: string[]) =>
    (await du('s3://few', '--by-prefix', ...args)).out.split('\n\n')[1];

  it('has the largest folders first, and all others in one row', async () => {
    expect(await tableOf('--top', '2')).toBe(
      [
        ' SIZE   SHARE  OBJECTS  FOLDER',
        '6 MiB  99.9 %        3  logs/',
        '1 KiB   0.0 %        1  (in no folder)',
        ' 12 B   0.0 %        3  (2 smaller folders)',
        '',
      ].join('\n'),
    );
  });

  it('tells what lies directly in a folder from what lies deeper', async () => {
    expect(await tableOf('--depth', '2')).toBe(
      [
        ' SIZE   SHARE  OBJECTS  FOLDER',
        '3 MiB  49.9 %        1  logs/ (directly)',
        '3 MiB  49.9 %        2  logs/2026/',
        '1 KiB   0.0 %        1  (in no folder)',
        '  6 B   0.0 %        1  tmp/2/',
        '  5 B   0.0 %        1  tmp/ (directly)',
        '  1 B   0.0 %        1  logs\ufffd/ (directly)',
        '',
      ].join('\n'),
    );
  });

  it('names folders below the path', async () => {
    expect((await du('s3://few/lo*', '--by-prefix')).out).toContain('  logs/\n');
    expect((await du('s3://few/logs', '--by-prefix')).out).toContain('  2026/\n');
  });

  it('of nothing is empty', async () => {
    expect((await du('s3://few/none', '--by-prefix')).out).toMatch(
      /^0 B in 0 objects.*\nWithout old versions.*\n\nSIZE {2}SHARE {2}OBJECTS {2}FOLDER\n$/,
    );
  });
});

it('bytes beyond what a number holds are text in JSON, and exact', async () => {
  server.add(
    'large',
    hashNames(2500, 9).map((key) => ({ key: `a/${key}`, sizeBytes: 5 * 1024 ** 4 })),
  );
  const { out } = await du('s3://large', '--json', '--by-prefix');
  const exact = String(2500n * 5n * 1024n ** 4n);
  expect(JSON.parse(out)).toMatchObject({
    bytes: exact,
    folders: { largest: [{ folder: 'a/', bytes: exact }] },
  });
  expect((await du('s3://large')).out.replaceAll(',', '')).toContain(
    `12207.03 PiB (${exact} bytes)`.slice(-30),
  );
});

describe('requests', () => {
  beforeAll(() =>
    server.add(
      'paid',
      hashNames(12_000, 10).map((key) => ({ key, sizeBytes: 1 })),
    ),
  );

  it('cost what --list-price says, but not those that failed', async () => {
    server.faultOf = (request) => (request === 2 ? 'slow-down' : undefined);
    const { out } = await du('s3://paid', '--json', '--list-price', '0.5');
    const { dollars, requests, failed, throttled } = JSON.parse(out);
    expect({ requests, failed, throttled }).toEqual({ requests: server.requests, failed: 1, throttled: 1 });
    expect(dollars).toBeCloseTo(((server.requests - 1) * 0.5) / 1000, 9);
    server.reset();
    expect((await du('s3://paid', '--list-price', '100')).out).toMatch(/with 14 requests \(\$1\.40\) in/);
    expect((await du('s3://paid', '--list-price', '0.005')).out).toContain('(less than $0.01)');
    expect(JSON.parse((await du('s3://paid', '--json')).out).dollars).toBeNull();
  });

  it('come no faster than --max-rate', async () => {
    const arrivedMs: number[] = [];
    server.onRequest = () => void arrivedMs.push(performance.now());
    expect(await du('s3://paid', '--max-rate', '20')).toMatchObject({ code: 0 });
    // The first two may come at once. Timers may fire a millisecond early.
    const spanMs = (arrivedMs.at(-1) ?? 0) - (arrivedMs[0] ?? 0);
    expect(spanMs).toBeGreaterThan(((arrivedMs.length - 3) / 20) * 1000 - arrivedMs.length);
  });
});

it.each([
  [['--depth', '2'], 'error: --depth needs --by-prefix or --git.\n'],
  [['--top', '2'], 'error: --top needs --by, --by-prefix or --git.\n'],
  [['--save-every', '2'], 'error: --save-every needs --resume FILE.\n'],
  [['--by-prefix', '--top', '10001'], 'Use a whole number from 1 to 10000.'],
  [['--by-prefix', '--depth', '0'], 'Use a whole number from 1 to 1024.'],
  [['--max-rate', '0'], 'Use a whole number of 1 or more.'],
  [['--max-rate', '1.5'], 'Use a whole number of 1 or more.'],
  [['--list-price', '-1'], 'Use a number up to 1,000,000, such as 0.5.'],
  [['--resume', 'x', '--save-every', '0'], 'Use a number above 0, up to 1,000,000, such as 0.5.'],
  [['--resume'], "option '--resume <file>' argument missing"],
])('%j is refused, and nothing is sent', async (args, message) => {
  const { code, err } = await du('s3://few', ...args);
  expect(code).toBe(2);
  expect(err).toContain(message);
  expect(server.requests).toBe(0);
});
