import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ScanListing } from '../../lambda/adapters/s3-scan/listing.ts';
import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { startStore } from '../../local/store/start-store.ts';
import type { ObjectStoreTarget } from './object-store-context.ts';
import { listingTests } from './object-store-listing.contract.ts';
import { openS3Target } from './s3-target.ts';

/** The contract of ObjectListing, for the scan's own listing on the local store. */
describe('listing contract: the scan on the local store', () => {
  let opened: ObjectStoreTarget | undefined;
  let prefixes = 0;
  const context = {
    get target() {
      if (opened === undefined) throw new Error('The store is not open.');
      return opened;
    },
    prefix: () => {
      prefixes += 1;
      return `run/${prefixes}/`;
    },
  };

  beforeAll(async () => {
    const dataDir = await mkdtemp(path.join(tmpdir(), 'scan-contract-'));
    const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };
    const running = await startStore({ port: 0, dataDir, bucket: 'objects', credentials });
    const target = await openS3Target({
      endpoint: running.url,
      bucket: 'objects',
      credentials,
      stop: async () => {
        await running.close();
        await rm(dataDir, { recursive: true });
      },
    });
    const settings = { region: 'us-east-1', endpoint: running.url, forcePathStyle: true, credentials };
    opened = { ...target, listing: new ScanListing({ settings, bucket: 'objects' }) };
  });
  afterAll(() => opened?.stop());

  listingTests(context, {});

  test('a scan counts all objects', async () => {
    const { target } = context;
    const prefix = context.prefix();
    for (const digit of '0123456789abcdef') await target.put(`${prefix}${digit.repeat(64)}`, Buffer.alloc(3));
    const { listing } = target;
    const scan = createPathScan({ listing, clock: systemClock, settings: defaultSettings });
    for (const isAwaited of [true, false]) {
      const lookFor = new Set(['a'.repeat(64), '5'.repeat(63)]);
      expect(await scan.scan({ prefix, isAwaited, lookFor })).toMatchObject({
        kind: 'done',
        objectCount: 16,
        storedBytes: 48,
        seen: new Map([['a'.repeat(64), 3]]),
      });
    }
  });
});
