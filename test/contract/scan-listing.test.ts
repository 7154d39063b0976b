import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { createPathScan } from '../../lambda/core/scan/path-scan.ts';
import { systemClock } from '../../lambda/frame/aws/clock-and-ids.ts';
import { startStore } from '../../local/store/start-store.ts';
import type { ObjectStoreTarget } from './object-store-context.ts';
import { openS3Target } from './s3-target.ts';

let target: ObjectStoreTarget;

beforeAll(async () => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'scan-contract-'));
  const credentials = { accessKeyId: 'local', secretAccessKey: 'local-secret' };
  const running = await startStore({ port: 0, dataDir, bucket: 'objects', credentials });
  target = openS3Target({
    endpoint: running.url,
    bucket: 'objects',
    credentials,
    stop: async () => {
      await running.close();
      await rm(dataDir, { recursive: true });
    },
  });
});
afterAll(() => target.stop());

test('a scan of the local store counts all objects', async () => {
  const prefix = 'acme/app/';
  const startedMs = Date.now();
  for (const digit of '0123456789abcdef') await target.put(`${prefix}${digit.repeat(64)}`, Buffer.alloc(3));
  const scan = createPathScan({ listing: target.listing, clock: systemClock, settings: defaultSettings });
  for (const isAwaited of [true, false]) {
    const lookFor = new Set(['a'.repeat(64), '5'.repeat(63)]);
    expect(await scan.scan({ prefix, isAwaited, lookFor })).toMatchObject({
      kind: 'done',
      objectCount: 16,
      storedBytes: 48,
      seen: new Map([['a'.repeat(64), 3]]),
      recent: new Set(),
    });
    const recent = async (recentSinceMs: number) => {
      const outcome = await scan.scan({ prefix, isAwaited, recentSinceMs });
      return outcome.kind === 'done' ? outcome.recent : undefined;
    };
    expect(await recent(startedMs)).toEqual(
      new Set([...'0123456789abcdef'].map((digit) => digit.repeat(64))),
    );
    expect(await recent(Date.now() + 60_000)).toEqual(new Set());
  }
});
