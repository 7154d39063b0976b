import { expect, it } from 'vitest';
import { BytesReader } from '../../../../../lambda/adapters/s3/bytes-reader.ts';

it('joins the pieces of an answer, each copied, and ends one that is too long', () => {
  const reader = new BytesReader(4);
  const piece = Buffer.from('ab');
  reader.write(piece);
  piece.fill(0);
  reader.write(Buffer.from('cd'));
  expect(Buffer.from(reader.end()).toString()).toBe('abcd');
  expect(() => reader.write(Buffer.from('e'))).toThrow('more than 4 bytes');
});
