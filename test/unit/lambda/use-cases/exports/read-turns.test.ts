import { expect, it } from 'vitest';
import { ReadTurns } from '../../../../../lambda/use-cases/exports/read-turns.ts';

const mib = 1024 ** 2;

/** Reads that end when the test says so. */
function startReads(turns: ReadTurns, sizes: readonly number[]) {
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  const all = sizes.map((bytes, index) =>
    turns.during(bytes, () => {
      begun.push(index);
      return new Promise<void>((resolve, reject) => {
        ends[index] = (error) => (error ? reject(error) : resolve());
      });
    }),
  );
  const settle = async () => {
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
  };
  return { begun, ends, all, settle };
}

it('begin in their order, as many as fill the bandwidth', async () => {
  const reads = startReads(
    new ReadTurns(),
    Array.from({ length: 12 }, () => 5 * mib),
  );
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2, 3]);
  reads.ends[2]?.();
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2, 3, 4]);
});

it('fill the bandwidth to the last byte', async () => {
  const reads = startReads(new ReadTurns(), [6 * mib, 6 * mib, 6 * mib, 6 * mib, 1]);
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2, 3]);
});

it('of small ones, only so many are under way', async () => {
  const reads = startReads(
    new ReadTurns(),
    Array.from({ length: 100 }, () => 1000),
  );
  await reads.settle();
  expect(reads.begun.length).toBe(64);
});

it('a large one is read alone, and holds up what comes behind it', async () => {
  const reads = startReads(new ReadTurns(), [1, 100 * mib, 1]);
  await reads.settle();
  expect(reads.begun).toEqual([0]);
  reads.ends[0]?.();
  await reads.settle();
  expect(reads.begun).toEqual([0, 1]);
  reads.ends[1]?.();
  await reads.settle();
  expect(reads.begun).toEqual([0, 1, 2]);
});

it('one that fails makes room as well', async () => {
  const reads = startReads(new ReadTurns(), [100 * mib, 1]);
  await reads.settle();
  reads.ends[0]?.(new Error('gone'));
  await expect(reads.all[0]).rejects.toThrow('gone');
  await reads.settle();
  expect(reads.begun).toEqual([0, 1]);
});
