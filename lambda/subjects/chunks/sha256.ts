import { createSHA256, type IHasher } from 'hash-wasm';
import { initialState } from './rules/upload.ts';

/**
 * SHA-256 that can begin in the middle. Its *state* after whole blocks of 64 bytes is all that the rest of a computation
 * depends on, so parts of a file can be hashed apart from each other (FIPS 180-4, section 6.2).
 */

/** Bytes that SHA-256 takes at a time. A state exists only between two blocks. */
export const blockBytes = 64;

/**
 * What hash-wasm saves is its kind (4 bytes), the block that isn't full yet, the bytes so far (8), the state and the length
 * of a digest (8). Numbers are little-endian.
 */
const places = { bytes: 4 + blockBytes, state: 4 + blockBytes + 8 };
const stateBytes = 32;

/** A state is written as its digest would be: 64 hex digits. */
export class Sha256 {
  readonly #hasher: IHasher;
  #bytes: number;

  private constructor(hasher: IHasher, bytes: number) {
    this.#hasher = hasher;
    this.#bytes = bytes;
  }

  /** @param from the state after so many bytes, a multiple of 64. Default: the beginning. */
  static async create(from: { state: string; bytes: number } = { state: initialState, bytes: 0 }) {
    if (!/^[\da-f]{64}$/.test(from.state) || from.bytes % blockBytes !== 0)
      throw new RangeError('SHA-256 can continue only from a state between two blocks.');
    const hasher = (await createSHA256()).init();
    const saved = Buffer.from(hasher.save());
    saved.writeBigUInt64LE(BigInt(from.bytes), places.bytes);
    Buffer.from(from.state, 'hex').swap32().copy(saved, places.state);
    hasher.load(saved);
    return new Sha256(hasher, from.bytes);
  }

  update(bytes: Uint8Array): void {
    this.#hasher.update(bytes);
    this.#bytes += bytes.length;
  }

  /** The state here. @throws {RangeError} inside a block. */
  state(): string {
    if (this.#bytes % blockBytes !== 0) throw new RangeError('SHA-256 has no state inside a block.');
    const saved = Buffer.from(this.#hasher.save());
    return saved
      .subarray(places.state, places.state + stateBytes)
      .swap32()
      .toString('hex');
  }

  /** The hash of all, in hex. Nothing can be added then. */
  digest(): string {
    return this.#hasher.digest();
  }
}
