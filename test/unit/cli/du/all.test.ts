import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { compareKeys } from '../../../../lambda/core/rules/names.ts';
import { ListedBuckets } from '../../../support/listed-buckets.ts';
import { type AskedRequest, errorReply, LyingStore, type Reply } from '../../../support/lying-store.ts';
import { Random } from '../../../support/random.ts';
import { bucket, credentials } from '../../../support/store-fixture.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { cli } from '../harness.ts';

const tempFolder = useTempFolders();

interface Version {
  readonly key: string;
  readonly id: string;
  readonly bytes: number;
  readonly kind: 'current' | 'old' | 'marker' | 'latest marker';
}

/** Keys of which some have far more versions than fit on a page. */
function versionsOf(random: Random): readonly Version[] {
  const keys = Array.from(
    { length: 120 },
    (_, index) => `${random.pick(['a', 'b/', 'ü &<', '%41+'])}${index}`,
  );
  return keys.sort(compareKeys).flatMap((key) => {
    const count = random.chance(0.1) ? random.int(20, 40) : random.int(1, 3);
    return Array.from({ length: count }, (_, at): Version => {
      const isMarker = random.chance(0.2);
      const kind = isMarker ? (at === 0 ? 'latest marker' : 'marker') : at === 0 ? 'current' : 'old';
      return { key, id: `v${at}`, bytes: isMarker ? 0 : random.int(0, 5000), kind };
    });
  });
}

const pageMax = 7;
const encode = (key: string) => encodeURIComponent(key).replaceAll('%20', '+');

/** As S3 answers ListObjectVersions, with at most seven versions a page. */
function listVersions(all: readonly Version[], query: AskedRequest['query']): Reply {
  const prefix = query.get('prefix') ?? '';
  const [keyMarker, versionMarker] = [query.get('key-marker'), query.get('version-id-marker')];
  const from =
    keyMarker === undefined
      ? 0
      : versionMarker === undefined
        ? all.findIndex(({ key }) => compareKeys(key, keyMarker) > 0)
        : all.findIndex(({ key, id }) => key === keyMarker && id === versionMarker) + 1;
  const rest = from < 0 ? [] : all.slice(from).filter(({ key }) => key.startsWith(prefix));
  const page = rest.slice(0, pageMax);
  const entries = page.map(({ key, id, bytes, kind }) => {
    const isLatest = kind === 'current' || kind === 'latest marker';
    const same = `<Key>${encode(key)}</Key><VersionId>${id}</VersionId><IsLatest>${isLatest}</IsLatest>`;
    return kind.endsWith('marker')
      ? `<DeleteMarker>${same}</DeleteMarker>`
      : `<Version>${same}<Size>${bytes}</Size></Version>`;
  });
  const last = page.at(-1);
  const next =
    rest.length > page.length && last
      ? `<NextKeyMarker>${encode(last.key)}</NextKeyMarker><NextVersionIdMarker>${last.id}</NextVersionIdMarker>`
      : '';
  const body = `<?xml version="1.0"?><ListVersionsResult><EncodingType>url</EncodingType><IsTruncated>${next !== ''}</IsTruncated>${next}${entries.join('')}</ListVersionsResult>`;
  return { status: 200, body };
}

let all: readonly Version[] = [];
let refused: string | undefined;
let asked: AskedRequest[] = [];
const server = new ListedBuckets();
let store: LyingStore;
let client: S3Client;

beforeAll(async () => {
  server.add('listed', [
    { key: 'a,"b"\nc', sizeBytes: 3, lastModifiedMs: 0 },
    { key: 'd', sizeBytes: 4, lastModifiedMs: 1000 },
  ]);
  store = await LyingStore.start({
    instead: async (request, more) => {
      asked.push(request);
      if (refused !== undefined && request.query.has(refused)) return errorReply(403, 'AccessDenied');
      if (request.query.has('versions')) return listVersions(all, request.query);
      return server.faults.instead?.(request, more);
    },
  });
  process.env['AWS_ACCESS_KEY_ID'] = credentials.accessKeyId;
  process.env['AWS_SECRET_ACCESS_KEY'] = credentials.secretAccessKey;
  client = new S3Client({
    region: 'us-east-1',
    endpoint: store.url,
    forcePathStyle: true,
    credentials,
    requestChecksumCalculation: 'WHEN_REQUIRED',
  });
});
afterAll(async () => {
  delete process.env['AWS_ACCESS_KEY_ID'];
  delete process.env['AWS_SECRET_ACCESS_KEY'];
  client.destroy();
  await store.stop();
});
beforeEach(() => {
  refused = undefined;
  asked = [];
});

const du = (url: string, ...args: string[]) =>
  cli(['du', url, '--endpoint', store.url, ...args], { now: Date.now });
const sum = (versions: readonly Version[], ...of: Version['kind'][]) => {
  const found = versions.filter(({ kind }) => of.includes(kind));
  return { objects: found.length, bytes: found.reduce((bytes, version) => bytes + version.bytes, 0) };
};

describe('du --all', () => {
  it.each(['', 'b/', '%41'])('is exact, whatever pages end in the middle of: %s', async (prefix) => {
    for (let seed = 1; seed <= 3; seed += 1) {
      all = versionsOf(new Random(seed));
      const url = `s3://${bucket}/${prefix}${prefix === '%41' ? '*' : ''}`;
      for (const strategy of ['probe', 'sixteen', 'sequential']) {
        const { code, out, err } = await du(url, '--all', '--json', '--strategy', strategy);
        expect([code, err]).toEqual([0, '']);
        const below = all.filter(({ key }) => key.startsWith(prefix));
        const current = sum(below, 'current');
        const oldVersions = sum(below, 'old');
        expect(JSON.parse(out)).toMatchObject({
          current,
          oldVersions,
          deleteMarkers: sum(below, 'marker', 'latest marker').objects,
          unfinished: { uploads: 0, bytes: 0, isWhole: true },
          billedBytes: current.bytes + oldVersions.bytes,
          objects: new Set(below.map(({ key }) => key)).size,
        });
      }
    }
  });

  it('counts the parts of unfinished uploads, and shows all as one table', async () => {
    all = [
      { key: 'a/x', id: '2', bytes: 1024, kind: 'current' },
      { key: 'a/x', id: '1', bytes: 512, kind: 'old' },
      { key: 'b', id: '3', bytes: 0, kind: 'latest marker' },
    ];
    for (const [Key, sizes] of [
      ['a/film', [100, 200]],
      ['c', []],
    ] as const) {
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key }));
      for (const [index, size] of sizes.entries())
        await client.send(
          new UploadPartCommand({
            Bucket: bucket,
            Key,
            UploadId,
            PartNumber: index + 1,
            Body: Buffer.alloc(size),
          }),
        );
    }
    const { code, out } = await du(`s3://${bucket}`, '--all', '--by-prefix');
    expect(code).toBe(0);
    expect(out.replace(/scanned .*/, '…')).toBe(`1.79 KiB (1,836 bytes) billed, …

 SIZE   SHARE  OBJECTS  KIND
1 KiB  55.7 %        1  current             ████████████
512 B  27.8 %        1  old versions        ██████
  0 B   0.0 %        1  delete markers
300 B  16.3 %        2  unfinished uploads  ████

   SIZE   SHARE  OBJECTS  FOLDER
1.5 KiB  83.6 %        1  a/
    0 B   0.0 %        1  (in no folder)
`);
    refused = 'uploads';
    const partly = await du(`s3://${bucket}`, '--all');
    expect(partly.code).toBe(4);
    expect(partly.err).toContain("Unfinished uploads weren't counted.");
    refused = 'versions';
    const none = await du(`s3://${bucket}`, '--all');
    expect(none).toMatchObject({ code: 4, out: '', err: expect.stringContaining('s3:ListBucketVersions') });
  });

  it('goes on from a file', async () => {
    all = versionsOf(new Random(99));
    const file = path.join(tempFolder(), 'scan');
    const first = JSON.parse((await du(`s3://${bucket}`, '--all', '--json', '--resume', file)).out);
    const again = await du(`s3://${bucket}`, '--all', '--json', '--resume', file);
    const same = ['current', 'oldVersions', 'deleteMarkers', 'unfinished', 'billedBytes'];
    for (const name of same) expect(JSON.parse(again.out)[name]).toEqual(first[name]);
    const other = await du(`s3://${bucket}`, '--resume', file);
    expect(other.err).toContain('with --all, not without --all');
  });
});

describe('du', () => {
  it('writes a row for each key', async () => {
    const file = path.join(tempFolder(), 'keys.csv');
    expect((await du('s3://listed', '--csv', file)).code).toBe(0);
    expect(readFileSync(file, 'utf8')).toBe(
      'key,bytes,last_modified,storage_class\n' +
        '"a,""b""\nc",3,1970-01-01T00:00:00.000Z,STANDARD\nd,4,1970-01-01T00:00:01.000Z,STANDARD\n',
    );
    const { code, err } = await du('s3://listed', '--csv', file);
    expect([code, err]).toEqual([1, expect.stringContaining('keys.csv exists.')]);
    const nowhere = path.join(tempFolder(), 'none', 'keys.csv');
    expect((await du('s3://listed', '--csv', nowhere)).err).toContain('(ENOENT)');
    expect(existsSync(nowhere)).toBe(false);
  });

  it.each([[], ['--all']])('pays for its requests, or sends no signature: %s', async (...args) => {
    all = [];
    await du('s3://listed', ...args, '--request-payer');
    const paid = asked.map(({ headers }) => [headers['x-amz-request-payer'], typeof headers.authorization]);
    expect(new Set(paid.flat())).toEqual(new Set(['requester', 'string']));
    expect(asked.every(({ headers }) => headers.authorization?.includes('x-amz-request-payer'))).toBe(true);
    asked = [];
    await du('s3://listed', ...args, '--no-sign-request');
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.filter(({ headers }) => headers.authorization !== undefined)).toEqual([]);
  });

  it.each([
    [['--all', '--by', 'age'], 'Use --all without --by and --csv.'],
    [['--csv', 'a', '--resume', 'b'], 'Use only one of --csv and --resume.'],
  ])('takes no %s', async (args, message) => {
    expect(await du('s3://listed', ...args)).toMatchObject({
      code: 2,
      err: expect.stringContaining(message),
    });
  });
});
