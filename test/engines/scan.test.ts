import { createHash, randomBytes } from 'node:crypto';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { beforeAll, expect, it } from 'vitest';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { ScanListing } from '../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../lambda/core/scan/path-scan.ts';
import type { ScanStrategy } from '../../lambda/core/scan/rules/scan-plan.ts';
import { AdoptedListing } from '../../lambda/core/store/adopted-listing.ts';
import { BucketClient } from '../../lambda/core/store/bucket-client.ts';
import {
  type AdoptedRepo,
  AdoptedRepos,
  nameLayouts,
  storedNameOf,
} from '../../lambda/core/store/rules/adopted-repos.ts';
import { systemClock } from '../../lambda/frame/aws/clock-and-ids.ts';
import { describeOn } from './engine.ts';
import { engineCredentials, versitygw } from './s3.ts';

const hashes = Array.from({ length: 2300 }, (_, index) =>
  createHash('sha256').update(`${index}`).digest('hex'),
);
const foreign = ['a b+c', 'd%20e', 'f&g<h>"i\'', 'ü/日本', '~', 'photos/2026/1.jpg', 'photos/2026/2.jpg'];

describeOn(versitygw, (endpoint) => {
  const settings = { region: 'us-east-1', endpoint, forcePathStyle: true, credentials: engineCredentials() };
  const bucket = `scan-${randomBytes(6).toString('hex')}`;
  const adopted = nameLayouts.map(
    (names, index): AdoptedRepo => ({ tenant: 'acme', repo: `adopted${index}`, path: `old${index}/`, names }),
  );
  const objects = [
    ...adopted.flatMap(({ path, names }) =>
      hashes
        .slice(0, 1200)
        .map((oid, index) => ({ key: path + storedNameOf(names, oid), sizeBytes: index % 3 })),
    ),
    ...adopted.map(({ path }) => ({ key: `${path}0/other`, sizeBytes: 50 })),
    ...hashes.map((oid, index) => ({ key: `acme/app/${oid}`, sizeBytes: index % 5 })),
    ...foreign.map((name, index) => ({ key: `acme/other/${name}`, sizeBytes: 10 + index })),
  ];

  beforeAll(async () => {
    const client = new S3Client(settings);
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    const waiting = [...objects];
    const upload = async () => {
      for (let object = waiting.pop(); object; object = waiting.pop()) {
        const { key: Key, sizeBytes: ContentLength } = object;
        const Body = 'x'.repeat(ContentLength);
        // With the length given, the SDK does not warn that it cannot determine it for an empty body.
        await client.send(new PutObjectCommand({ Bucket: bucket, Key, Body, ContentLength }));
      }
    };
    await Promise.all(Array.from({ length: 16 }, upload));
    client.destroy();
  }, 60_000);

  const scan = () => {
    const place = { ...settings, bucket, credentials: async () => engineCredentials() };
    const listing = new ScanListing({ client: new BucketClient(place) });
    return createPathScan({ listing, clock: systemClock, settings: defaultSettings });
  };
  it.each(adopted)(
    'objects that lie as $names are counted once, and their folder shown',
    async ({ repo }) => {
      const place = { ...settings, bucket, credentials: async () => engineCredentials() };
      const inner = new ScanListing({ client: new BucketClient(place) });
      const listing = new AdoptedListing(inner, new AdoptedRepos(adopted));
      const { scan: scanAdopted } = createPathScan({
        listing,
        clock: systemClock,
        settings: defaultSettings,
      });
      const prefix = `acme/${repo}/`;
      const expected = { kind: 'done', objectCount: 1200, storedBytes: 1200 };
      for (const strategy of [
        { kind: 'probe' },
        { kind: 'sixteen' },
        { kind: 'hint', objects: 40_000 },
      ] as const)
        expect(await scanAdopted({ prefix, strategy })).toMatchObject(expected);
      const { commonPrefixes } = await listing.listFolders({ prefix: 'acme/' });
      expect(commonPrefixes).toEqual([
        'acme/adopted0/',
        'acme/adopted1/',
        'acme/adopted2/',
        'acme/app/',
        'acme/other/',
      ]);
      const pages: number[] = [];
      let continuationToken: string | undefined;
      do {
        const page = await listing.listPage({
          prefix: 'acme/',
          ...(continuationToken && { continuationToken }),
        });
        pages.push(page.keyCount);
        continuationToken = page.nextContinuationToken;
      } while (continuationToken !== undefined);
      expect(pages.reduce((sum, count) => sum + count, 0)).toBe(3 * 1200 + hashes.length + foreign.length);
    },
  );

  const sizeOf = (key: string) => objects.find((object) => object.key === key)?.sizeBytes;
  const truth = (prefix: string) => {
    const below = objects.filter(({ key }) => key.startsWith(prefix));
    return {
      objectCount: below.length,
      storedBytes: below.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    };
  };

  it.each<ScanStrategy>([
    { kind: 'probe' },
    { kind: 'sixteen' },
    { kind: 'fixed-sixteen' },
    { kind: 'sequential' },
    { kind: 'hint', objects: 2300 },
    { kind: 'hint', objects: 40_000 },
  ])('every object is counted once ($kind)', async (strategy) => {
    const lookFor = new Set([hashes[0] ?? '', hashes[2299] ?? '', 'f'.repeat(64)]);
    const outcome = await scan().scan({ prefix: 'acme/app/', strategy, lookFor });
    expect(outcome).toMatchObject({ kind: 'done', ...truth('acme/app/') });
    const seen = new Map(
      [hashes[0] ?? '', hashes[2299] ?? ''].map((oid) => [oid, sizeOf(`acme/app/${oid}`)]),
    );
    expect(outcome).toMatchObject({ seen });
  });

  it('names that need escaping are read unchanged', async () => {
    const lookFor = new Set(foreign);
    const seen = new Map(foreign.map((name) => [name, sizeOf(`acme/other/${name}`)]));
    const outcome = await scan().scan({ prefix: 'acme/other/', lookFor });
    expect(outcome).toMatchObject({ kind: 'done', ...truth('acme/other/'), seen });
  });

  it('another scan continues the rest of a scan', async () => {
    const part = await scan().scan({ prefix: 'acme/', strategy: { kind: 'probe' }, requestsMax: 1 });
    if (part.kind !== 'unfinished') throw new Error('One request must not be enough.');
    const resume = JSON.parse(JSON.stringify(part.rest));
    expect(await scan().scan({ prefix: 'acme/', resume })).toMatchObject({ kind: 'done', ...truth('acme/') });
  });
});
