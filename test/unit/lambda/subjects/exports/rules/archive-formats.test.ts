import { isMainThread } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  crc32After,
  dosTime,
  tarFormat,
  zipFormat,
} from '../../../../../../lambda/subjects/exports/rules/archive-formats.ts';

it('goes on from the bytes before', () => {
  const [first, second] = [Buffer.from('first '), Buffer.from('second')];
  expect(crc32After(crc32After(0, first), second)).toBe(crc32(Buffer.from('first second')));
});

const tar = tarFormat({ modifiedAtMs: Date.UTC(2026, 0, 2) });
const text = (bytes: Uint8Array, from: number, length: number) =>
  Buffer.from(bytes.subarray(from, from + length))
    .toString('utf8')
    .replace(/\0+$/, '');
const head = (name: string, sizeBytes = 3) => {
  const bytes = tar.head({ name, sizeBytes, crc32: 0 });
  expect(bytes.length).toBe(tar.headBytes({ name, sizeBytes }));
  return bytes;
};

describe('a head of tar', () => {
  it('is one ustar block for the name of an object', () => {
    const name = `lfs/objects/ab/cd/${'abcd'.repeat(16)}`;
    const bytes = head(name);
    expect(bytes.length).toBe(512);
    expect(text(bytes, 0, 100)).toBe(name);
    expect(text(bytes, 124, 12)).toBe('00000000003');
    expect(text(bytes, 156, 1)).toBe('0');
    expect(text(bytes, 257, 8)).toBe('ustar\u000000');
    const sum = bytes.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
    expect(Number.parseInt(text(bytes, 148, 6), 8)).toBe(sum);
  });

  it('divides a long name at a slash', () => {
    const bytes = head(`${'p'.repeat(120)}/${'n'.repeat(100)}`);
    expect(bytes.length).toBe(512);
    expect(text(bytes, 345, 155)).toBe('p'.repeat(120));
    expect(text(bytes, 0, 100)).toBe('n'.repeat(100));
  });

  it.each(['n'.repeat(101), `${'p'.repeat(156)}/n`, 'Übersicht.png', `日本/${'ä'.repeat(300)}`])(
    'has a pax record for the name %s',
    (name) => {
      const bytes = head(name);
      const records = text(bytes, 512, bytes.length - 1024);
      expect(text(bytes, 156, 1)).toBe('x');
      const [, length = '', value = ''] = /^(\d+) path=(.*)\n$/s.exec(records) ?? [];
      expect(value).toBe(name);
      expect(Number(length)).toBe(Buffer.byteLength(records));
      expect(Number.parseInt(text(bytes, 124, 11), 8)).toBe(Buffer.byteLength(records));
    },
  );

  it.each([2, 3])('counts the digits of a record of about 10^%i bytes', (digits) => {
    for (let length = 10 ** digits - 12; length < 10 ** digits + 3; length += 1) {
      const bytes = head('ä'.repeat(Math.max(1, length >> 1)) + 'x'.repeat(length % 2));
      const records = text(bytes, 512, bytes.length - 1024);
      expect(Number(records.split(' ')[0])).toBe(Buffer.byteLength(records));
    }
  });

  it('has a pax record for a size from 8 GiB', () => {
    expect(head('a', 8 * 1024 ** 3 - 1).length).toBe(512);
    expect(text(head('a', 8 * 1024 ** 3), 512, 100)).toBe('19 size=8589934592\n');
  });
});

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
    { sizeBytes: 1, startByte: gib4 - 1, extra: [0, 28] },
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

  it('say both sizes beside a long offset, which unzip takes for one behind a file of 4 GiB - 1', () => {
    const record = Buffer.from(zip.record({ name: 'a', sizeBytes: 7, startByte: gib4, crc32: 0 }));
    expect([record.readUInt32LE(20), record.readUInt32LE(24), record.readUInt32LE(42)]).toEqual(
      Array(3).fill(gib4 - 1),
    );
    expect([0, 8, 16].map((at) => Number(record.readBigUInt64LE(47 + 4 + at)))).toEqual([7, 7, gib4]);
  });

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

  // A thread can't change its process's time zone.
  it.runIf(isMainThread).each(['UTC', 'America/New_York', 'Asia/Kathmandu'])(
    'are the same wherever they are made: %s',
    (zone) => {
      vi.stubEnv('TZ', zone);
      onTestFinished(() => void vi.unstubAllEnvs());
      expect(new Date(0).getTimezoneOffset() === 0).toBe(zone === 'UTC');
      expect(dosTime(Date.UTC(2026, 0, 1, 23, 59, 58))).toEqual({
        time: (23 << 11) | (59 << 5) | 29,
        date: (46 << 9) | (1 << 5) | 1,
      });
    },
  );
});
