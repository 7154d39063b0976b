import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ScanListing } from '../../../../lambda/core/scan/list-objects.ts';
import { BucketClient } from '../../../../lambda/core/store/bucket-client.ts';
import type { ArchiveStore } from '../../../../lambda/core/store/rules/archive-store.ts';
import { exportSettingsFor } from '../../../../lambda/subjects/exports/rules/settings.ts';
import type { ArchiveStoreTarget } from '../../../contract/archive-store.contract.ts';
import { openS3Archives } from '../../../contract/s3-archives.ts';
import { describeWith } from '../../../support/describe-with.ts';
import { bytesOf } from '../../../support/payload.ts';
import { Random } from '../../../support/random.ts';
import { archiveTools, pythonHashes, runTool } from '../../../support/subjects/exports/archive-tools.ts';
import { StoreExports } from '../../../support/subjects/exports/store-exports.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { describeOn } from '../../engine.ts';
import { createBucket, versitygw } from '../../s3.ts';

const mib = 1024 ** 2;

/** Around the smallest part of an upload, and what is copied as a whole or in pieces. */
const sizes = [0, 1, 5 * mib - 1, 5 * mib, 5 * mib + 1, 13 * mib, 2_000_003, 3_100_007, 6_543_211, 8_000_000];

/** Shards of a few parts each. */
const sharded = { shards: 'always', shardBytesMax: 16 * mib, uploadBytesMax: 10 * mib } as const;
/** So slow that an export has many units. */
const pace = { workers: 3, bytesPerSecond: 2e6, requestSeconds: 0.1, requestsAtOnce: 1 };

const lists = {
  tar: ['tar -tf FILE', 'bsdtar -tf FILE', 'bsdtar -tf - < FILE', '7zz t -bd FILE'],
  zip: ['unzip -tq FILE', 'bsdtar -tf FILE', 'bsdtar -tf - < FILE', '7zz t -bd FILE'],
};

describeOn(versitygw, (endpoint) => {
  describeWith({ title: 'exports', ...archiveTools }, () => {
    const tempFolder = useTempFolders();
    const bucket = `exports-${randomBytes(6).toString('hex')}`;
    const oids = new Set<string>();
    let target: ArchiveStoreTarget;
    let listing: ScanListing;

    beforeAll(async () => {
      const { credentials } = await createBucket(endpoint, bucket);
      target = openS3Archives({ endpoint, bucket, credentials, stop: async () => {} });
      const place = { bucket, region: 'us-east-1', endpoint, forcePathStyle: true };
      listing = new ScanListing({
        client: new BucketClient({ ...place, credentials: async () => credentials }),
      });
      for (const [index, size] of sizes.entries()) {
        const bytes = bytesOf(`exported ${index}`, size);
        const oid = createHash('sha256').update(bytes).digest('hex');
        oids.add(oid);
        await target.store.put(`acme/${index % 2 === 0 ? 'app' : 'web'}/${oid}`, bytes);
      }
    });
    afterAll(() => target?.stop());

    /** That programs take the archive for whole, and each object in it has its SHA-256. */
    async function expectWhole(bytes: Uint8Array, format: 'tar' | 'zip'): Promise<void> {
      const folder = tempFolder();
      const file = join(folder, `export.${format}`);
      writeFileSync(file, bytes);
      for (const list of lists[format])
        await runTool(folder, 'sh', '-c', list.replace('FILE', `export.${format}`));
      const hashes: Record<string, string> = JSON.parse(
        await runTool(folder, 'python3', '-c', pythonHashes, file),
      );
      const found = Object.entries(hashes).filter(([name]) => name.startsWith('lfs/objects/'));
      expect(new Set(found.map(([, sha256]) => sha256))).toEqual(oids);
      for (const [name, sha256] of found) expect(name.slice(-64)).toBe(sha256);
    }

    const cases = (['tar', 'zip'] as const).flatMap((format) =>
      (['s3', 'grid', 'stream'] as const).flatMap((kind) =>
        [false, true].map((isSharded) => ({ format, kind, isSharded })),
      ),
    );
    const ways: Record<string, string> = { s3: 'copy-free', grid: 'copy-grid', stream: 'stream' };

    it.each(cases)('$format, $kind, in shards: $isSharded', async ({ format, kind, isSharded }) => {
      const exportId = `${format}-${kind}-${isSharded}`;
      const settings = {
        ...exportSettingsFor(kind, { workers: 3 }),
        pace,
        ...(isSharded && { plan: sharded }),
      };
      const exports = new StoreExports({ archives: target.store, listing, settings });
      // Of the first steps, many are killed; then fewer, so that it ends.
      const random = new Random(exportId.length);
      let steps = 0;
      const callsToLive = () => {
        steps += 1;
        return random.int(0, steps) < 4 ? random.int(0, 25) : undefined;
      };
      const job = await exports.run({ tenant: 'acme', exportId, request: { format }, callsToLive });
      expect(job).toMatchObject({ state: 'done', isTidy: true, round: 1, planned: { way: ways[kind] } });
      expect(exports.kills).toBeGreaterThan(0);
      expect(job.planned?.figures.shards ?? 0).toBeGreaterThanOrEqual(isSharded ? 3 : 0);
      const [volume] = job.planned?.volumes ?? [];
      const key = volume?.key ?? '';
      expect(await leftBelow(target.store, `_exports/acme/${exportId}/`)).toEqual([key]);
      await expectWhole((await target.store.get(key)) ?? new Uint8Array(), format);
      await target.store.delete([key]);
    });
  });
});

/** The keys of objects, and of uploads that are not complete. */
async function leftBelow(store: ArchiveStore, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of store.list(prefix)) keys.push(...page);
  for await (const page of store.uploads(prefix)) keys.push(...page.map(({ key }) => `upload of ${key}`));
  return keys;
}
