import { createServer } from 'node:http';
import { describe, expect, it } from 'vitest';
import { KeySet, ListServer, nameOf } from '../../../bench/list-server.ts';
import { defaultSettings } from '../../../lambda/core/rules/settings.ts';
import { ScanListing } from '../../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../../lambda/core/scan/path-scan.ts';
import { BucketClient } from '../../../lambda/core/store/bucket-client.ts';
import { systemClock } from '../../../lambda/frame/aws/clock-and-ids.ts';
import { Random } from '../../support/random.ts';
import { listen } from '../../support/serve.ts';

const set = new KeySet(7_321);

function allObjects() {
  const all: { name: string; sizeBytes: number }[] = [];
  for (let isTruncated = true; isTruncated; ) {
    const page = pageOf({ after: all.at(-1)?.name ?? '', keysMax: 1000 });
    all.push(...page.objects);
    ({ isTruncated } = page);
  }
  return all;
}

function pageOf(asked: { after: string; keysMax: number }) {
  const { objects, isTruncated } = set.page(asked);
  const named = objects.map(({ position, sizeBytes }) => ({ name: nameOf(position), sizeBytes }));
  return { objects: named, isTruncated };
}

describe('computed keys', () => {
  const all = allObjects();

  it('are as many and as large as the set says, in order, of 64 digits', () => {
    expect(all).toHaveLength(set.objectCount);
    expect(Math.abs(set.objectCount - 7_321)).toBeLessThan(300);
    expect(all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)).toBe(set.totalBytes);
    const names = all.map(({ name }) => name);
    expect(names.filter((name) => !/^[0-9a-f]{64}$/.test(name))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    expect([...names].sort()).toEqual(names);
  });

  it('are listed from any place', () => {
    const random = new Random(3);
    const hex = (digits: number) =>
      Array.from({ length: digits }, () => random.int(0, 15).toString(16)).join('');
    const places = [
      ...Array.from({ length: 50 }, () => hex(random.int(1, 64))),
      ...Array.from({ length: 50 }, () => random.pick(all).name.slice(0, random.int(10, 64))),
      'f'.repeat(64),
    ];
    for (const after of places) {
      const keysMax = random.int(1, 1000);
      const from = all.findIndex(({ name }) => name > after);
      const expected = from < 0 ? [] : all.slice(from, from + keysMax);
      const isTruncated = from >= 0 && from + keysMax < all.length;
      expect(pageOf({ after, keysMax })).toEqual({ objects: expected, isTruncated });
    }
  });
});

describe('the list server', () => {
  it('is counted exactly, whatever the strategy', async () => {
    const server = new ListServer();
    const endpoint = `http://127.0.0.1:${await listen(createServer({ keepAliveTimeout: 60_000 }, server.answer))}`;
    const place = { bucket: 'n30000', region: 'us-east-1', endpoint, forcePathStyle: true };
    const client = new BucketClient({
      ...place,
      credentials: async () => ({ accessKeyId: 'a', secretAccessKey: 'b' }),
    });
    const scan = createPathScan({
      listing: new ScanListing({ client }),
      clock: systemClock,
      settings: defaultSettings,
    });
    const { objectCount, totalBytes } = server.keySet(30_000);
    const truth = { kind: 'done', objectCount, storedBytes: totalBytes };
    const prefix = 'acme/app/';
    for (const kind of ['probe', 'sixteen', 'sequential'] as const)
      expect(await scan.scan({ prefix, strategy: { kind } })).toMatchObject(truth);
    const hinted = await scan.scan({ prefix, hintObjects: 30_000 });
    expect(hinted).toMatchObject(truth);
    // Keys that are spread as hashes need no more.
    expect(hinted.requests).toBeLessThanOrEqual(34);
    client.destroy();
  });
});
