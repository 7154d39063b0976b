import { sha256Hex } from '../../../../lambda/core/rules/hash.ts';
import { Sha256 } from '../../../../lambda/subjects/chunks/sha256.ts';
import type { Random } from '../../../support/random.ts';

/** A chunk is one block of SHA-256. */
export const chunkBytes = 64;
/** What is larger is uploaded in chunks. */
export const chunkedAboveBytes = 60;

/** An object that somebody uploads. */
export interface Content {
  readonly oid: string;
  readonly bytes: Uint8Array;
  /** SHA-256's states before each chunk, as an agent reports them. */
  readonly statesBefore: readonly string[];
  /** No bytes have this oid: it was computed from a false state. Nothing may ever be stored at its key. */
  readonly isForged: boolean;
}

export function chunkOf({ bytes }: Content, chunk: number): Uint8Array {
  return bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes);
}

export function chunkCount({ bytes }: Content): number {
  return Math.ceil(bytes.length / chunkBytes);
}

function bytesOf(random: Random, length: number): Uint8Array {
  return Uint8Array.from({ length }, () => random.int(0, 255));
}

/** Of several chunks, of which the last one may be as large as the others. */
function lengthOf(random: Random): number {
  const chunks = random.int(2, 4);
  return chunks * chunkBytes - (random.chance(0.3) ? 0 : random.int(1, chunkBytes - 1));
}

export function trueContent(random: Random): Promise<Content> {
  return contentOf(bytesOf(random, lengthOf(random)));
}

/** One that isn't uploaded in chunks. */
export function smallContent(random: Random): Promise<Content> {
  return contentOf(bytesOf(random, random.int(1, chunkedAboveBytes)));
}

async function contentOf(bytes: Uint8Array): Promise<Content> {
  const statesBefore = await statesOf(bytes, () => undefined);
  return { oid: sha256Hex(bytes), bytes, statesBefore: statesBefore.slice(0, -1), isForged: false };
}

/**
 * An oid for which somebody has a false state: before its first chunk, or between two. All chunks prove what they are said
 * to, and the last one ends with the oid.
 */
export async function forgedContent(random: Random): Promise<Content> {
  const bytes = bytesOf(random, lengthOf(random));
  const breakAt = random.int(0, Math.ceil(bytes.length / chunkBytes) - 1);
  const falseState = Buffer.from(bytesOf(random, 32)).toString('hex');
  const states = await statesOf(bytes, (chunk) => (chunk === breakAt ? falseState : undefined));
  return { oid: states.at(-1) ?? '', bytes, statesBefore: states.slice(0, -1), isForged: true };
}

/** The states before each chunk, and the digest. @param falseStateOf what stands for the true one before a chunk. */
async function statesOf(
  bytes: Uint8Array,
  falseStateOf: (chunk: number) => string | undefined,
): Promise<string[]> {
  const states: string[] = [];
  let hash = await Sha256.create();
  const count = Math.ceil(bytes.length / chunkBytes);
  for (let chunk = 0; chunk < count; chunk += 1) {
    const state = falseStateOf(chunk);
    if (state !== undefined) hash = await Sha256.create({ state, bytes: chunk * chunkBytes });
    states.push(hash.state());
    hash.update(bytes.subarray(chunk * chunkBytes, (chunk + 1) * chunkBytes));
  }
  return [...states, hash.digest()];
}
