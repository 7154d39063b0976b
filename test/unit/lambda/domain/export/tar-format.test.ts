import { describe, expect, it } from 'vitest';
import { tarFormat } from '../../../../../lambda/domain/export/tar-format.ts';

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
