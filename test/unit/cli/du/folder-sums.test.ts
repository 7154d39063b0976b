import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Folder,
  type FolderSum,
  FolderSums,
  folderOf,
  foldersOfPart,
  type KeptFolders,
} from '../../../../cli/du/folders.ts';
import { compareKeys } from '../../../../lambda/core/rules/names.ts';
import type { KeyRange } from '../../../../lambda/core/scan/rules/key-space.ts';

interface Named {
  readonly name: string;
  readonly size: number;
}

const prefix = 'p/';

/** A page of these objects, which are in order, and how many keys were decoded. */
function partOf(objects: readonly Named[]) {
  const decoded = { count: 0 };
  const page = {
    keyCount: objects.length,
    totalBytes: 0,
    isTruncated: false,
    nextContinuationToken: undefined,
    keyAt: (index: number) => {
      decoded.count += 1;
      return prefix + objects[index]?.name;
    },
    sizeAt: (index: number) => objects[index]?.size ?? 0,
    lastModifiedMsAt: () => undefined,
    etagAt: () => '',
  };
  const sizeBytes = objects.reduce((sum, { size }) => sum + size, 0);
  return { part: { page, keyCount: objects.length, sizeBytes }, decoded };
}

/** What a plain loop finds. */
function truthOf(objects: readonly Named[], depth: number): Map<string, FolderSum> {
  const sums = new Map<string, FolderSum>();
  for (const { name, size } of objects) {
    const { folder } = folderOf(name, depth);
    const { objects: count = 0, bytes = 0n } = sums.get(folder) ?? {};
    sums.set(folder, { objects: count + 1, bytes: bytes + BigInt(size) });
  }
  return sums;
}

function largestOf(truth: ReadonlyMap<string, FolderSum>, top: number): Folder[] {
  return [...truth]
    .map(([folder, sum]) => ({ folder, ...sum }))
    .sort((a, b) => (a.bytes === b.bytes ? (a.folder < b.folder ? -1 : 1) : a.bytes > b.bytes ? -1 : 1))
    .slice(0, top);
}

const piece = fc.oneof(
  fc.constantFrom('', 'a', 'b', 'B', '0', '!', 'é', '\u{10000}', '\uffff'),
  fc.stringMatching(/^[a-c]{0,3}$/),
);
const names = fc.array(fc.array(piece, { minLength: 1, maxLength: 4 }), { maxLength: 120 });
const anyObjects = names.map((all) =>
  [...new Set(all.map((pieces) => pieces.join('/')))]
    .sort(compareKeys)
    .map((name, index): Named => ({ name, size: (index * 37) % 101 })),
);

describe('the folders of a page', () => {
  it('are those that a plain loop finds', () => {
    fc.assert(
      fc.property(anyObjects, fc.integer({ min: 1, max: 4 }), (objects, depth) => {
        const found = foldersOfPart(partOf(objects).part, { prefix, depth });
        expect(new Map([...found].sort())).toEqual(new Map([...truthOf(objects, depth)].sort()));
      }),
    );
  });

  it.each([
    [1, 2],
    [2, 25],
    [10, 150],
  ])('if it has %i of them, take at most %i of its 1,000 keys', (folders, keysMax) => {
    const objects = Array.from({ length: 1000 }, (_, index) => {
      const folder = String(Math.floor((index * folders) / 1000)).padStart(4, '0');
      return { name: `f${folder}/${String(index).padStart(4, '0')}`, size: 1 };
    });
    const { part, decoded } = partOf(objects);
    expect(foldersOfPart(part, { prefix, depth: 1 }).size).toBe(folders);
    expect(decoded.count).toBeLessThanOrEqual(keysMax);
  });
});

/** Adds objects in parts, from ranges that are listed in any order, as a scan does. */
function addAll(
  objects: readonly Named[],
  input: { depth: number; top: number; cuts: number[]; restartAfter: number },
) {
  const { depth, top, cuts, restartAfter } = input;
  const ends = [...new Set(cuts.map((cut) => objects[cut % Math.max(1, objects.length)]?.name ?? ''))].sort(
    compareKeys,
  );
  const open: KeyRange[] = [null, ...ends].map((after, index) => ({ after, last: ends[index] ?? null }));
  let sums = new FolderSums({ top });
  let [parts, openMost] = [0, 0];
  while (open.length > 0) {
    const index = parts % open.length;
    const range = open[index] as KeyRange;
    const isAfter = ({ name }: Named) => range.after === null || compareKeys(name, range.after) > 0;
    const isIn = (object: Named) =>
      isAfter(object) && (range.last === null || compareKeys(object.name, range.last) <= 0);
    const inRange = objects.filter(isIn);
    const taken = inRange.slice(0, 7);
    sums.add(foldersOfPart(partOf(taken).part, { prefix, depth }), () => open);
    const last = taken.at(-1);
    if (taken.length === inRange.length || last === undefined) open.splice(index, 1);
    else open[index] = { ...range, after: last.name };
    parts += 1;
    if (parts % restartAfter !== 0) continue;
    // What JSON keeps of it.
    const kept: KeptFolders = JSON.parse(JSON.stringify(sums.keep(open)));
    openMost = Math.max(openMost, kept.open.length / (open.length + 1));
    sums = new FolderSums({ top, kept });
  }
  return { sums, openMost };
}

describe('the sums of folders', () => {
  it('are exact, whatever ranges are listed in whatever order, and wherever they are continued', () => {
    fc.assert(
      fc.property(
        anyObjects,
        fc.record({
          depth: fc.integer({ min: 1, max: 3 }),
          top: fc.integer({ min: 1, max: 5 }),
          cuts: fc.array(fc.nat(200), { maxLength: 6 }),
          restartAfter: fc.integer({ min: 1, max: 5 }),
        }),
        (objects, input) => {
          const { sums, openMost } = addAll(objects, input);
          const truth = truthOf(objects, input.depth);
          expect(sums.result).toEqual({ folderCount: truth.size, largest: largestOf(truth, input.top) });
          // Two ends a range, at each of which folders of all levels may be open.
          expect(openMost).toBeLessThanOrEqual(2 * (input.depth + 1));
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keep few of 160,000 folders, and the largest of them exactly', () => {
    const [lanes, foldersOfLane, top] = [8, 20_000, 50];
    const nameOf = (lane: number, index: number) => `l${lane}-${String(index).padStart(7, '0')}/`;
    const bytesOf = (lane: number, index: number) =>
      BigInt(((index * 7919 + lane * 104_729) % 1_000_003) + 1);
    const sums = new FolderSums({ top });
    const all: bigint[] = [];
    const open: KeyRange[] = [];
    for (let at = 0; at < foldersOfLane; at += 500) {
      for (let lane = 0; lane < lanes; lane += 1) {
        const part = new Map<string, FolderSum>();
        for (let index = at; index < at + 500; index += 1) {
          part.set(nameOf(lane, index), { objects: 1, bytes: bytesOf(lane, index) });
          all.push(bytesOf(lane, index));
        }
        open[lane] = { after: `${nameOf(lane, at + 499)}x`, last: `l${lane}~` };
        sums.add(part, () => open);
      }
    }
    expect(sums.keep(open).open.length).toBeLessThanOrEqual(2 * lanes);
    const { folderCount, largest } = sums.result;
    expect(folderCount).toBe(lanes * foldersOfLane);
    all.sort((a, b) => (a > b ? -1 : 1));
    expect(largest.map(({ bytes }) => bytes)).toEqual(all.slice(0, top));
  });
});
