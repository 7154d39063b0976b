import { describe, expect, it } from 'vitest';
import { foldersOfPart } from '../../../../../cli/du/folders.ts';
import { ScanListing } from '../../../../../lambda/core/scan/list-objects.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import type {
  CountedPart,
  PathScanInput,
  ScanStrategy,
} from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import { BucketClient } from '../../../../../lambda/core/store/bucket-client.ts';
import { MalformedPageError } from '../../../../../lambda/core/store/http-exchange.ts';
import { BrokenListingError } from '../../../../../lambda/core/store/rules/store.ts';
import { systemClock } from '../../../../../lambda/frame/aws/clock-and-ids.ts';
import { Random } from '../../../../support/random.ts';
import { type ListedObject, truthOf } from '../../../../support/round-listing.ts';
import { encodings, type Habits, oddStore, orders, repeats } from './odd-store.ts';

const credentials = async () => ({ accessKeyId: 'key', secretAccessKey: 'secret' });

const characters = [
  ...'aAbBzZ019-_.~',
  ...[
    ' ',
    '+',
    '%41',
    '%2F',
    '%',
    '&',
    '<',
    'é',
    'ß',
    '日',
    '\ufb01',
    '\u{1f600}',
    '\ue000',
    '\n',
    '/',
    '//',
  ],
];

function objectsOf(random: Random): ListedObject[] {
  const few = Array.from({ length: random.int(1, 12) }, () => random.pick(characters));
  const names = Array.from({ length: random.int(0, 60) }, () =>
    Array.from({ length: random.int(1, 8) }, () => random.pick(few)).join(''),
  );
  const folders = random.chance(0.5) ? ['IMG_', 'img_', 'Bild ', 'z/', 'photos/'] : [''];
  return [...new Set(names.map((name) => random.pick(folders) + name))].map((name) => ({
    key: `t/r/${name}`,
    sizeBytes: random.int(0, 1e6),
  }));
}

function habitsOf(random: Random): Habits {
  const any = <T extends object>(of: T) => random.pick(Object.keys(of)) as keyof T;
  return {
    order: any(orders),
    encoding: any(encodings),
    saysUrl: random.chance(0.5),
    repeats: random.chance(0.7) ? 'never' : any(repeats),
    isInclusive: random.chance(0.1),
    ignoresStartAfter: random.chance(0.1),
    hasEmptyPages: random.chance(0.2),
    pageKeysMax: random.int(1, 12),
  };
}

const strategyOf = (random: Random): ScanStrategy =>
  random.chance(0.3)
    ? { kind: 'hint', objects: random.int(1, 20_000) }
    : { kind: random.pick(['probe', 'sixteen', 'fixed-sixteen', 'sequential'] as const) };

/** What a scan finds, in one go or in several, and what its parts add up to. */
async function scanned(random: Random, objects: readonly ListedObject[], habits: Habits) {
  const place = {
    bucket: 'b',
    region: 'us-east-1',
    endpoint: 'http://127.0.0.1:1',
    forcePathStyle: true,
    credentials,
  };
  const store = oddStore(objects, habits);
  const listing = new ScanListing({ client: new BucketClient(place, store), retry: { baseDelayMs: 0 } });
  const warnings: string[] = [];
  const log = { warn: (message: string) => void warnings.push(message) };
  const scan = createPathScan({
    listing,
    clock: systemClock,
    settings: { scanConcurrency: random.int(1, 20) },
    log,
  });
  const parts = { objects: 0, bytes: 0, inFolders: 0 };
  const common: PathScanInput = {
    prefix: 't/r/',
    onPart: (part: CountedPart) => {
      parts.objects += part.keyCount;
      parts.bytes += part.sizeBytes;
      for (const { objects: found } of foldersOfPart(part, { prefix: 't/r/', depth: 1 }).values())
        parts.inFolders += found;
    },
    onRestart: () => void Object.assign(parts, { objects: 0, bytes: 0, inFolders: 0 }),
  };
  let input: PathScanInput = { ...common, strategy: strategyOf(random) };
  const pauses = random.chance(0.3) ? random.int(1, 5) : 0;
  for (let pause = 0; pause < pauses; pause += 1) {
    const part = await scan.scan({ ...input, requestsMax: random.int(1, 6) });
    if (part.kind === 'done') return { ...part, parts, warnings };
    input = { ...common, resume: JSON.parse(JSON.stringify(part.rest)) };
  }
  const outcome = await scan.scan(input);
  if (outcome.kind !== 'done') throw new Error('It has no limit.');
  return { ...outcome, parts, warnings };
}

describe('a scan of a store that lists in its own way', () => {
  it('is right, or fails: an order, an encoding or a repetition never makes it silently wrong', async () => {
    const first = Number(process.env['FC_SEED'] ?? 1);
    const count = process.env['NIGHTLY'] ? 60_000 : 3000;
    const wrong: unknown[] = [];
    const found = { right: 0, again: 0, refused: 0 };
    for (let seed = first; seed < first + count; seed += 1) {
      const random = new Random(seed);
      const [objects, habits] = [objectsOf(random), habitsOf(random)];
      try {
        const { objectCount, storedBytes, parts, warnings } = await scanned(random, objects, habits);
        const truth = truthOf(objects, 't/r/');
        const { objectCount: all, storedBytes: bytes } = truth;
        const isRight = objectCount === all && storedBytes === bytes;
        const arePartsRight = parts.objects === all && parts.bytes === bytes && parts.inFolders === all;
        if (!isRight || !arePartsRight) wrong.push({ seed, habits, truth, objectCount, parts });
        else if (warnings.length > 0) found.again += 1;
        else found.right += 1;
      } catch (error) {
        const isRefused = error instanceof BrokenListingError || error instanceof MalformedPageError;
        if (!isRefused) wrong.push({ seed, habits, error: String(error) });
        found.refused += 1;
      }
    }
    expect(wrong).toEqual([]);
    expect(found.refused).toBeLessThan(0.05 * count);
  });
});
