import { crc32 } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { combineCrc32 } from '../../../../../support/subjects/exports/combine-crc32.ts';

const piece = (bytes: Uint8Array) => ({ crc32: crc32(bytes), sizeBytes: bytes.length });

describe('combineCrc32', () => {
  it('is the CRC-32 of all pieces together', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 8 }), (pieces) => {
        expect(combineCrc32(pieces.map(piece))).toBe(crc32(Buffer.concat(pieces)));
      }),
    );
  });

  it('knows pieces beyond 4 GiB', () => {
    const mebibyte = piece(new Uint8Array(1024 ** 2));
    let joined = mebibyte;
    for (let doubling = 0; doubling < 13; doubling += 1)
      joined = { crc32: combineCrc32([joined, joined]), sizeBytes: 2 * joined.sizeBytes };
    expect(joined.sizeBytes).toBe(8 * 1024 ** 3);
    const tail = piece(Buffer.from('tail'));
    const oneByOne = Array.from({ length: 8192 }, () => mebibyte);
    expect(combineCrc32([joined, tail])).toBe(combineCrc32([...oneByOne, tail]));
    // As Python's zlib says of 8 GiB of zeros.
    expect(joined.crc32).toBe(0x41d912ff);
  });

  it('is 0 for nothing', () => {
    expect(combineCrc32([])).toBe(0);
  });
});
