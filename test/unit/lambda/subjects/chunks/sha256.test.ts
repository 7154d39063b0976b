import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { initialState } from '../../../../../lambda/subjects/chunks/rules/upload.ts';
import { Sha256 } from '../../../../../lambda/subjects/chunks/sha256.ts';

const native = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('SHA-256 with a state', () => {
  it.each([0, 1, 63, 64, 65, 5000])('hashes %i bytes as node:crypto does', async (count) => {
    const bytes = randomBytes(count);
    const sha256 = await Sha256.create();
    sha256.update(bytes);
    expect(sha256.digest()).toBe(native(bytes));
  });

  it('goes on from any state between two blocks, whatever the pieces', async () => {
    const bytes = randomBytes(64 * 40 + 17);
    for (const cut of [0, 64, 64 * 7, 64 * 40]) {
      const first = await Sha256.create();
      for (let at = 0; at < cut; at += 50) first.update(bytes.subarray(at, Math.min(at + 50, cut)));
      const second = await Sha256.create({ state: first.state(), bytes: cut });
      second.update(bytes.subarray(cut));
      expect(second.digest()).toBe(native(bytes));
    }
  });

  it('begins with the state of the standard', async () => {
    expect((await Sha256.create()).state()).toBe(initialState);
  });

  it('counts beyond 4 GiB', async () => {
    // 2^29 + 64 bytes are more than 2^32 bits; the length is part of the padding.
    const state = native(randomBytes(1));
    const digestAfter = async (bytes: number) => (await Sha256.create({ state, bytes })).digest();
    const digests = await Promise.all([0, 2 ** 29, 2 ** 32, 2 ** 40].map(digestAfter));
    expect(new Set(digests).size).toBe(digests.length);
  });

  it('rejects a state inside a block, and what is no state', async () => {
    const sha256 = await Sha256.create();
    sha256.update(new Uint8Array(65));
    expect(() => sha256.state()).toThrow('no state inside a block');
    await expect(Sha256.create({ state: initialState, bytes: 65 })).rejects.toThrow('between two blocks');
    await expect(Sha256.create({ state: 'zz', bytes: 64 })).rejects.toThrow('between two blocks');
  });
});
