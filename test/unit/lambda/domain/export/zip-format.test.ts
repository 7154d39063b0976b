import { describe, expect, it } from 'vitest';
import { zipFormat } from '../../../../../lambda/domain/export/zip-format.ts';
import { dosTime } from '../../../../../lambda/domain/export/zip-records.ts';

const zip = zipFormat({ modifiedAtMs: Date.UTC(2026, 0, 2, 3, 4, 6) });
const gib4 = 2 ** 32;

describe('the records of zip', () => {
  it('say sizes and CRC before the bytes, with UTF-8 names and no data descriptor', () => {
    const head = Buffer.from(zip.head({ name: 'ü', sizeBytes: 5, crc32: 0x12345678 }));
    expect(head.length).toBe(zip.headBytes({ name: 'ü', sizeBytes: 5 }));
    expect(head.readUInt16LE(4)).toBe(20);
    expect(head.readUInt16LE(6)).toBe(0x0800);
    expect([head.readUInt32LE(14), head.readUInt32LE(18), head.readUInt32LE(22)]).toEqual([0x12345678, 5, 5]);
    expect(head.length).toBe(30 + 2);
  });

  it.each([
    { sizeBytes: gib4 - 2, startByte: gib4 - 2, extra: [0, 0] },
    { sizeBytes: gib4 - 1, startByte: 0, extra: [20, 20] },
    { sizeBytes: 1, startByte: gib4 - 1, extra: [0, 12] },
    { sizeBytes: gib4, startByte: gib4, extra: [20, 28] },
  ])(
    'use ZIP64 only where it is needed: $sizeBytes bytes at $startByte',
    ({ sizeBytes, startByte, extra }) => {
      const member = { name: 'a', sizeBytes, startByte, crc32: 0 };
      const [head, record] = [Buffer.from(zip.head(member)), Buffer.from(zip.record(member))];
      expect([head.length - 31, record.length - 47]).toEqual(extra);
      expect([zip.headBytes(member), zip.recordBytes(member)]).toEqual([head.length, record.length]);
      expect([head.readUInt16LE(4), record.readUInt16LE(6)]).toEqual(extra.map((bytes) => (bytes ? 45 : 20)));
    },
  );

  it.each([
    { members: 65_534, directoryStartByte: gib4 - 2, directoryEndByte: gib4 + 100, bytes: 22 },
    { members: 65_535, directoryStartByte: 0, directoryEndByte: 1, bytes: 98 },
    { members: 1, directoryStartByte: gib4 - 1, directoryEndByte: gib4, bytes: 98 },
    { members: 1, directoryStartByte: 0, directoryEndByte: gib4, bytes: 98 },
  ])('end with $bytes bytes: $members files, directory from $directoryStartByte', ({ bytes, ...end }) => {
    expect(zip.end(end).length).toBe(bytes);
    expect(zip.endBytes(end)).toBe(bytes);
  });

  it('keep the time within what MS-DOS knows', () => {
    expect(dosTime(0)).toEqual({ time: 0, date: (1 << 5) | 1 });
    expect(dosTime(Date.UTC(2026, 0, 2, 3, 4, 6))).toEqual({
      time: (3 << 11) | (4 << 5) | 3,
      date: (46 << 9) | (1 << 5) | 2,
    });
    expect(dosTime(Date.UTC(2200, 0, 1)).date >> 9).toBe(127);
  });
});
