import { describe, expect, it } from 'vitest';
import { isFull } from '../../../../../../lambda/frame/gauges/rules/disk.ts';
import { diskPart } from '../../../../../../lambda/subjects/status/rules/disk.ts';

const mib = 1024 ** 2;
const gib = 1024 * mib;

describe('the disk of a server', () => {
  const diskOf = (freeBytes: number, sizeBytes: number, isWritable = true) => ({
    folder: '/data',
    freeBytes,
    sizeBytes,
    isWritable,
  });

  it.each([
    ['60 MiB with 30 free', 30 * mib, 60 * mib, 'fine', false],
    ['60 MiB with 7 free', 7 * mib, 60 * mib, 'fine', false],
    ['60 MiB with 5 free', 5 * mib, 60 * mib, 'act', false],
    ['60 MiB with 3 free', 3 * mib, 60 * mib, 'act', true],
    ['100 GiB with 6 free', 6 * gib, 100 * gib, 'fine', false],
    ['100 GiB with 4 free', 4 * gib, 100 * gib, 'act', false],
    ['4 TiB with 11 GiB free', 11 * gib, 4096 * gib, 'fine', false],
    ['4 TiB with 9 GiB free', 9 * gib, 4096 * gib, 'act', false],
    ['4 TiB with 256 MiB free', 256 * mib, 4096 * gib, 'act', true],
    ['nothing free', 0, 60 * mib, 'act', true],
  ])('of %s', (_, freeBytes, sizeBytes, state, full) => {
    const disk = diskOf(freeBytes, sizeBytes);
    expect([diskPart(disk).state, isFull(disk)]).toEqual([state, full]);
    expect(diskPart(disk).todo === null).toBe(state === 'fine');
  });

  it('says how much is free, where, and what frees more', () => {
    const { says, todo } = diskPart(diskOf(2 * mib, 60 * mib));
    expect(says).toBe('The disk is full: 2 MiB free of 60 MiB (/data).');
    expect(todo).toBe(
      "Pushes fail while it's full. Make it larger, or delete other files there. Deleted objects free up space after an hour. " +
        "Don't restart the server first: without space, it can't start.",
    );
    expect(diskPart(diskOf(4 * mib, 60 * mib)).says).toMatch(/^The disk is nearly full: 4 MiB free/);
  });

  it("is full while the table can't be written", () => {
    const disk = diskOf(30 * mib, 60 * mib, false);
    expect(isFull(disk)).toBe(true);
    expect(diskPart(disk)).toMatchObject({
      state: 'act',
      says: expect.stringMatching(/^The table can't be/),
    });
  });

  it("that can't be looked at is unknown, never fine", () => {
    expect(diskPart(diskOf(Number.NaN, Number.NaN)).state).toBe('unknown');
    expect(diskPart(diskOf(Number.NaN, Number.NaN, false)).state).toBe('act');
  });
});
