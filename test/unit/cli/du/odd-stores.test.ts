import { readdirSync, readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ListedObject } from '../../../support/round-listing.ts';
import { listen, serve } from '../../../support/serve.ts';
import { credentials } from '../../../support/store-fixture.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { type Habits, oddAnswers } from '../../lambda/core/scan/odd-store.ts';
import { cli } from '../harness.ts';

beforeAll(() => {
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
});
afterAll(() => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
});

const tempFolder = useTempFolders();
const named = (start: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${start}${String(index).padStart(4, '0')}`);
const objectsOf = (...names: readonly string[]) => names.map((key, index) => ({ key, sizeBytes: index + 1 }));
const bytesOf = (objects: readonly ListedObject[]) =>
  objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

const sane: Habits = {
  order: 'utf8',
  encoding: 'url',
  saysUrl: true,
  repeats: 'never',
  isInclusive: false,
  ignoresStartAfter: false,
  hasEmptyPages: false,
  pageKeysMax: 1000,
};

/** `du` on a bucket. @param change of each answer. */
async function du(
  objects: readonly ListedObject[],
  habits: Partial<Habits>,
  { args = [], change = (xml) => xml }: { args?: readonly string[]; change?: (xml: string) => string } = {},
) {
  const answer = oddAnswers(objects, { ...sane, ...habits });
  let requests = 0;
  const endpoint = await serve((request, response) => {
    requests += 1;
    response.end(change(answer(new URL(request.url ?? '', 'http://x').searchParams)));
  });
  const result = await cli(['du', 's3://bkt', '--endpoint', endpoint, '--json', ...args]);
  return { ...result, json: result.code === 0 ? JSON.parse(result.out) : undefined, requests };
}

const again =
  /^warning: The store doesn't list keys in order, so the scan starts again, one page at a time\.\n$/;
const twice = /^warning: The store lists keys more than once\. Each counts once\.\n$/;
const unsaid = /^$/;

it.each<[string, string[], Partial<Habits>, RegExp]>([
  [
    'sorts without regard to case',
    [...named('IMG_', 2199), ...named('img_', 341), ...named('z/', 210), ...named('photos/', 736)],
    { order: 'no case' },
    again,
  ],
  ['has an order of its own', named('photos/', 2500), { order: 'hashed' }, again],
  ['encodes, and does not say so', named('Bild ', 2500), { saysUrl: false }, unsaid],
  [
    'says so, and does not encode',
    [...named('a%41', 1200), ...named('a-', 1500)],
    { encoding: 'none' },
    again,
  ],
  ['says so, and does not encode what cannot be decoded', named('100%x', 1500), { encoding: 'none' }, again],
  ['lists each key twice', named('a/', 1500), { repeats: 'in a row' }, twice],
  ['starts with the key after which it is asked', named('photos/', 3500), { isInclusive: true }, unsaid],
])('counts by itself what a store has that %s', async (_, names, habits, said) => {
  const objects = objectsOf(...names);
  const { code, json, err } = await du(objects, habits);
  expect([code, json.objects, json.bytes]).toEqual([0, objects.length, bytesOf(objects)]);
  expect(err).toMatch(said);
});

it('counts folders, groups and bytes of a store without an order', async () => {
  const objects = objectsOf(...named('a/', 1500), ...named('b/', 700), ...named('c.txt', 3));
  const args = ['--by-prefix', '--by', 'size'];
  const { json, err } = await du(objects, { order: 'hashed' }, { args });
  const below = (folder: string) =>
    objects.filter(({ key }) => key.slice(0, key.indexOf('/') + 1) === folder);
  for (const { folder, objects: count, bytes } of json.folders.largest)
    expect([count, bytes]).toEqual([below(folder).length, bytesOf(below(folder))]);
  expect(json.folders).toMatchObject({ count: 3, smaller: { folders: 0, objects: 0, bytes: 0 } });
  expect(json.by.size).toEqual([{ group: 'under 128 KiB', objects: 2203, bytes: bytesOf(objects) }]);
  expect(err).toMatch(again);
});

it('counts a key once that is listed again below a marker, wherever a page ends', async () => {
  const objects = objectsOf('dir/', 'dir/sub/', 'dir/sub/x', 'dir/y', 'z');
  for (let pageKeysMax = 1; pageKeysMax <= 10; pageKeysMax += 1) {
    const { json, err } = await du(objects, { repeats: 'below a folder', pageKeysMax });
    expect([json.objects, json.bytes]).toEqual([5, bytesOf(objects)]);
    expect(err).toContain('Each counts once.');
  }
});

it('counts pages of more than 2^53 bytes, with folders and groups', async () => {
  const sizeBytes = 50_000_000_000_001;
  const objects = named('k/', 1000).map((key) => ({ key, sizeBytes }));
  const { json } = await du(objects, {}, { args: ['--by-prefix', '--by', 'size'] });
  const bytes = String(BigInt(sizeBytes) * 1000n);
  expect([json.objects, json.bytes, json.folders.largest[0].bytes, json.by.size[0].bytes]).toEqual([
    1000,
    bytes,
    bytes,
    bytes,
  ]);
});

it('reads keys in CDATA, and times with an offset', async () => {
  const age = new Date(Date.parse('2026-11-21T05:00:00Z') - 40 * 86_400_000).toISOString();
  const change = (xml: string) =>
    xml.replaceAll(
      /<Key>(.*?)<\/Key>/g,
      `<Key><![CDATA[$1]]></Key><LastModified>${age.slice(0, 19)}+00:00</LastModified>`,
    );
  const { json } = await du(
    objectsOf('a%26b/1', 'a%26b/2', 'c'),
    { encoding: 'none' },
    { args: ['--by-prefix', '--by', 'age'], change },
  );
  expect(json.folders.largest.map(({ folder }: { folder: string }) => folder)).toEqual(['', 'a&b/']);
  expect(json.by.age.map(({ group }: { group: string }) => group)).toEqual(['30–90 days']);
});

it('ends at once, with exit code 1, if a store does not know the request', async () => {
  let requests = 0;
  const endpoint = await serve((_, response) => {
    requests += 1;
    response.writeHead(501).end('<Error><Code>NotImplemented</Code></Error>');
  });
  const { code, err } = await cli(['du', 's3://bkt', '--endpoint', endpoint]);
  expect([code, requests]).toEqual([1, 1]);
  expect(err).toBe(
    `error: ${endpoint} can't list the path: 501 NotImplemented\nCheck --endpoint, and the store: lfs-quota doctor\n`,
  );
});

it.each<[string, (xml: string) => string]>([
  ['has no IsTruncated', (xml) => xml.replace(/<IsTruncated>.*<\/IsTruncated>/, '')],
  ['has no KeyCount', (xml) => xml.replace(/<KeyCount>.*<\/KeyCount>/, '')],
  ['has another KeyCount', (xml) => xml.replace(/<KeyCount>.*<\/KeyCount>/, '<KeyCount>0</KeyCount>')],
  [
    'is truncated without a token',
    (xml) => xml.replace(/<NextContinuationToken>.*<\/NextContinuationToken>/, ''),
  ],
  ['writes False', (xml) => xml.replace('>true<', '>True<')],
  ['repeats its token', (xml) => xml.replace(/<NextContinuationToken>.*</, '<NextContinuationToken>1<')],
])('ends at once, with exit code 1 and one sentence, if a store %s', async (_, change) => {
  const found = await du(
    objectsOf(...named('a', 5)),
    { pageKeysMax: 1 },
    { args: ['--strategy', 'sequential'], change },
  );
  expect([found.code, found.out]).toEqual([1, '']);
  expect(found.err.split('\n')).toHaveLength(3);
  expect(found.err).toMatch(/^error: .*\.\nCheck --endpoint, and the store: lfs-quota doctor\n$/);
  expect(found.requests).toBeLessThanOrEqual(3);
});

it.each([
  ['speaks HTTP', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
  ['says something else', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['says what has the beginning of TLS', '\x16\x03\x03\xff\xff'],
])('ends at once, with exit code 1, if an https:// endpoint %s', async (_, text) => {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.write(text, 'latin1');
  });
  const endpoint = `https://127.0.0.1:${await listen(server)}`;
  const { code, err } = await cli(['du', 's3://bkt', '--endpoint', endpoint]);
  expect([code, connections]).toEqual([1, 1]);
  expect(err).toBe(`error: ${endpoint} doesn't speak TLS.\nWithout TLS, --endpoint starts with http://.\n`);
});

it.each<[string, number, RequestListener]>([
  ['no bucket', 3, (_, response) => response.writeHead(404).end('<Error><Code>NoSuchBucket</Code></Error>')],
  ['no right', 4, (_, response) => response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')],
  ['no S3', 1, (_, response) => response.end('<html>')],
])(
  'ends with the same exit code with --resume, and without a file if nothing was counted: %s',
  async (...row) => {
    const [, expected, answer] = row;
    const folder = tempFolder();
    const args = ['du', 's3://bkt', '--endpoint', await serve(answer)];
    const plain = await cli(args);
    expect(plain.code).toBe(expected);
    const { code, err } = await cli([...args, '--resume', path.join(folder, 'x.du')]);
    expect([code, err]).toEqual([plain.code, plain.err]);
    expect(readdirSync(folder)).toEqual([]);
  },
);

it('ends with the same exit code with --resume, and says how to go on after what was counted', async () => {
  const name = path.join(tempFolder(), 'x.du');
  const answer = oddAnswers(objectsOf(...named('a', 5)), { ...sane, pageKeysMax: 1 });
  let requests = 0;
  const endpoint = await serve((request, response) => {
    requests += 1;
    if (requests > 2) response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>');
    else response.end(answer(new URL(request.url ?? '', 'http://x').searchParams));
  });
  const args = ['du', 's3://bkt', '--endpoint', endpoint, '--strategy', 'sequential', '--resume', name];
  for (const _ of ['first', 'again']) {
    const { code, err } = await cli(args);
    expect(code).toBe(4);
    expect(err).toContain('Progress is saved. Resume: lfs-quota du');
    expect(readFileSync(name, 'utf8')).toContain('"objects":2,');
  }
});

it.each([
  ['HTML', '<!DOCTYPE html>\n<html><body>Index of /</body></html>'],
  ['RSS', '<?xml version="1.0"?>\n<!-- made by x -->\n<rss version="2.0"></rss>'],
  ['JSON', '{"objects":[]}'],
  ['text in Latin-1', Buffer.from('Grüße', 'latin1')],
  ['the list of buckets', '<ListAllMyBucketsResult><Buckets/></ListAllMyBucketsResult>'],
  ['entries of another list', '<ListVersionsResult><Contents><Key>a</Key></Contents></ListVersionsResult>'],
])('ends at once, with exit code 1, at an address that serves %s', async (_, body) => {
  let requests = 0;
  const endpoint = await serve((_request, response) => {
    requests += 1;
    response.end(body);
  });
  const { code, err } = await cli(['du', 's3://bkt', '--endpoint', endpoint]);
  expect([code, requests]).toEqual([1, 1]);
  expect(err).toBe(
    `error: ${endpoint} can't list the path: The response isn't a list of S3.\nCheck --endpoint, and the store: lfs-quota doctor\n`,
  );
});
