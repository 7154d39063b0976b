import { crc32 } from 'node:zlib';
import { expect, it } from 'vitest';
import { crc32After } from '../../../../../lambda/domain/export/crc32.ts';

it('goes on from the bytes before', () => {
  const [first, second] = [Buffer.from('first '), Buffer.from('second')];
  expect(crc32After(crc32After(0, first), second)).toBe(crc32(Buffer.from('first second')));
});
