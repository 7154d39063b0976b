import { expect, it } from 'vitest';
import { crc32From } from '../../../../../lambda/use-cases/exports/plan-copies.ts';

it('no zip is planned with an object whose CRC-32 is missing', () => {
  const oid = 'a'.repeat(64);
  const object = { oid, sizeBytes: 1, etag: 'e', key: `acme/app/${oid}` };
  expect(crc32From(new Map([[oid, 7]]))(object)).toBe(7);
  expect(() => crc32From(new Map([['b'.repeat(64), 7]]))(object)).toThrow(`The CRC-32 of ${oid} is missing.`);
});
