import { expect, it } from 'vitest';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import { parseSize } from '../../../lambda/core/rules/sizes.ts';
import { chunkBytesOf, chunkedMax, isChunked } from '../../../lambda/subjects/chunks/rules/sizes.ts';
import { RequestLimits } from '../../../local/limits.ts';
import {
  readChunksFrom,
  readLimits,
  readOutsiders,
  type ServeSettings,
  startServer,
} from '../../../local/serve.ts';
import { StartupError } from '../../../local/system/durable-file.ts';

const usual = {
  listen: '127.0.0.1:0',
  data: 'data',
  publicUrl: 'https://lfs.example.com',
  region: 'us-east-1',
  rate: '100',
  minRate: '512',
  log: 'json',
  tableName: 'lfs-quota',
} satisfies ServeSettings;
const store = 'https://s3.example.com';
const credentials = { AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' };
const shared = { ...credentials, LFS_QUOTA_ADMIN_TOKEN: 'admin' };

type Row = [settings: Partial<ServeSettings>, env: Record<string, string>, why: RegExp];

it.each<Row>([
  [{ publicUrl: 'http://lfs.example.com' }, {}, /must start with https:/],
  [{ publicUrl: '' }, {}, /^Pass --public-url, the URL that clients use, such as https:/],
  [{ publicUrl: 'lfs.example.com' }, {}, /--public-url must be like .* not 'lfs.example.com'/],
  [{ publicUrl: 'https://a.example,b.example' }, {}, /--public-url must be like .* not 'b.example'/],
  [{ objectsUrl: 'https://a.example/b' }, {}, /--objects-url must be like .*without a path, not/],
  [{ objectsUrl: 'a.example' }, {}, /--objects-url must be like .* not 'a.example'/],
  [{ objectsUrl: 'http://a.example' }, {}, /--objects-url http:\/\/a.example must start with https:/],
  [{ objectsUrl: 'https://a.example', store, bucket: 'b' }, credentials, /--objects-url is for .*--store/],
  ...['90', '0', '4MiB', '6GiB', 'much'].map(
    (chunksFrom): Row => [{ chunksFrom }, {}, /--chunks-from takes a size from 5MiB to 5GiB/],
  ),
  [{ listen: 'http' }, {}, /--listen takes an address and a port/],
  [{ listen: '65536' }, {}, /--listen takes an address and a port/],
  [{ gcWatch: '1h' }, {}, /--gc-watch takes a number of minutes/],
  [{ listen: '127.0.0.1:65536' }, {}, /--listen takes an address and a port/],
  [{ store }, credentials, /go together/],
  [{ bucket: 'b' }, credentials, /go together/],
  [{ store, bucket: 'b' }, {}, /AWS_ACCESS_KEY_ID/],
  [{ store: 's3.example.com', bucket: 'b' }, credentials, /--store takes/],
  [{ store, bucket: 'b', storageClasses: 'GLACIER' }, credentials, /--storage-classes takes .*GLACIER_IR/],
  [{ tableUrl: store }, credentials, /--table-url needs --store/],
  [{ tableUrl: store, store, bucket: 'b' }, credentials, /--table-url needs LFS_QUOTA_ADMIN_TOKEN/],
  [{ tableUrl: `${store}/x`, store, bucket: 'b' }, shared, /--table-url takes an endpoint/],
  [{ tableUrl: store, tableName: 'a b', store, bucket: 'b' }, shared, /--table-name takes/],
  [{ rate: '-1' }, {}, /--rate takes a number/],
  [{ minRate: '1k' }, {}, /--min-rate takes a number/],
  [{ listenMetrics: 'any' }, {}, /--listen-metrics takes an address/],
  ...[
    'x',
    'gitea,https://a,https://a/keys',
    'gitlab,https://a',
    'gitlab,a,https://b',
    'github,https://a,ftp://b',
    'github,https://a,https://b,c',
  ].map((text): Row => [{ issuer: [text] }, {}, /--issuer takes KIND,ISSUER,JWKS/]),
  [{ adopt: '/nowhere.json' }, {}, /Can't use --adopt/],
  [{}, { LFS_QUOTA_SMTP: 'mail.example.com' }, /LFS_QUOTA_SMTP must be/],
  [
    {},
    { LFS_QUOTA_SMTP: 'smtps://u:50%@mail.example.com', LFS_QUOTA_EMAIL_FROM: 'a@b.c' },
    /percent-encoded/,
  ],
  [{ data: ' ' }, {}, /--data takes a folder/],
  [{}, { LFS_QUOTA_SMTP: 'smtps://mail.example.com' }, /LFS_QUOTA_EMAIL_FROM/],
  [{ trustProxy: 'proxy' }, {}, /Trusted proxies must be/],
  ...['*', 'null', 'app.example.com', 'https://a.example/', 'https://a.example,', 'HTTPS://a.example'].map(
    (corsOrigins): Row => [{ corsOrigins }, {}, /--cors-origins takes origins with commas/],
  ),
])('does not start with %j, and says why', async (settings, env, why) => {
  const starting = startServer({ ...usual, ...settings }, { env, write: () => {} });
  await expect(starting).rejects.toThrow(StartupError);
  await expect(starting).rejects.toThrow(why);
});

it('has chunks that get through where a file does, whatever their number', () => {
  for (const text of ['5MiB', '5.5MiB', '90MB', '200MB', '5GiB']) {
    const settings = { ...defaultSettings, ...readChunksFrom(text) };
    const { objectBytesMax, chunkBytes } = settings;
    expect({ bytes: objectBytesMax }).toEqual(parseSize(text));
    expect(isChunked(settings, objectBytesMax)).toBe(false);
    const largest = chunkedMax(settings);
    for (const bytes of [objectBytesMax + 1, largest]) {
      expect(isChunked(settings, bytes)).toBe(true);
      expect(chunkBytesOf(settings, bytes)).toBeLessThanOrEqual(objectBytesMax);
      expect(Math.ceil(bytes / chunkBytesOf(settings, bytes))).toBeLessThanOrEqual(10_000);
      // What S3 takes as a part.
      expect(chunkBytes).toBeGreaterThanOrEqual(5 * 1024 ** 2);
    }
  }
  expect(readChunksFrom(undefined)).toEqual({});
});

it('bounds requests and slow transfers each by its own option', () => {
  expect(readLimits({ rate: '0', minRate: '512' })).toEqual({ connections: { leastRate: 512 } });
  expect(readLimits({ rate: '5', minRate: '0' })).toEqual({
    connections: { leastRate: 0 },
    limits: expect.any(RequestLimits),
  });
});

it('trusts what is on this machine only if told to, and adopts nothing by itself', () => {
  expect(readOutsiders({})).toMatchObject({ adoptedRepos: [], allowsLoopbackWebhooks: false });
});
