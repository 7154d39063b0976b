import * as z from 'zod';
import type { Crowded } from '../../../core/ledger/rules/upload-way.ts';
import { leaseMs } from '../../../core/rules/lease.ts';
import type { Settings } from '../../../core/rules/settings.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import { ownFolders } from '../../../core/store/rules/own-folders.ts';
import { chunkBytesOf } from './sizes.ts';

/**
 * A large object that is uploaded in chunks: ordinary objects in a folder of the service, each proven by a worker and copied into a
 * multipart upload of the object's key, which is completed once all are. A tenant's name begins with no `_`, so no usage
 * counts them.
 */

/** What an upload's id looks like: as that of a reservation. */
export const uploadIdPattern = /^[0-9a-f]{32}$/;

export const uploadSchema = z.object({
  tenant: z.string(),
  repo: z.string(),
  oid: z.string(),
  /** The id of the reservation that has the object's entry. */
  upload: z.string(),
  sizeBytes: z.number(),
  /** Of all chunks but the last one. */
  chunkBytes: z.number(),
  /** Whoever asked for it: see `makerOf` of reservations. */
  madeBy: z.string(),
  /** `stored`: the object is there. `wrong`: the bytes aren't the oid's. `ended`: it was given up. */
  state: z.enum(['open', 'assembling', 'stored', 'wrong', 'ended']),
  /** Since when it is in this state. */
  stateAtMs: z.number(),
  /** The worker that assembles it has died if it's after this. 0: none does, or an older version wrote none. */
  leaseUntilMs: z.number().default(0),
  createdAtMs: z.number(),
  /** It is given up after this. */
  activeUntilMs: z.number(),
  /** No PUT of a chunk can land after this, by any clock. 0: no URL was issued. */
  putsUntilMs: z.number(),
  /** When `assemble` was last queued by a client. */
  askedAtMs: z.number(),
  /**
   * What its clients show, the newest last. One is worth nothing without the token `tokenId`: see `lastingTokenId`. An older
   * version didn't write it.
   */
  tokens: z.array(z.object({ sha256: z.string(), untilMs: z.number(), tokenId: z.string().optional() })),
  /**
   * The multipart upload of the object's key, once there is one. Ahead: begun before all chunks were proven, and nobody has
   * assembled the object since.
   */
  multipart: z.object({ id: z.string(), beganAtMs: z.number(), isAhead: z.boolean().optional() }).nullable(),
  /** Why a step failed that a retry doesn't help, if one did. The newest. */
  failure: z.string().optional(),
  /** Of the object. Absent: the bucket's own. */
  storageClass: z.string().optional(),
});
export type ChunkedUpload = Frozen<z.output<typeof uploadSchema>>;
export type UploadPath = Pick<ChunkedUpload, 'tenant' | 'repo' | 'oid' | 'upload'>;
export type UploadState = ChunkedUpload['state'];

/** What a worker found when it read a chunk. */
export const proofSchema = z.object({
  /** From 0. */
  chunk: z.number(),
  /** SHA-256's states around the chunk. After the last one it's the digest of the whole. */
  before: z.string(),
  after: z.string(),
  /** Of the chunk that was read. */
  etag: z.string(),
  sizeBytes: z.number(),
});
export type Proof = Frozen<z.output<typeof proofSchema>>;

/** Where SHA-256 begins: FIPS 180-4, section 5.3.3. */
export const initialState = '6a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd19';

const hour = 60 * 60 * 1000;
const day = 24 * hour;

/** An upload that no client asks about is given up after this … */
const activeForMs = day;
/** … and any after this. */
const openForMs = 7 * day;
/** How long an upload's claim is kept at most: beyond any assembly. */
export const claimedForMs = 8 * day;
/** Clocks differ by less. */
const skewMs = 60 * 1000;

const tokensMax = 8;
export const tokenForMs = day;

/** Uploads of one object, each of another maker, open or not removed yet. Each stores its own chunks, while their claims are one. */
const perObjectMax = 4;
/** The schedule removes what is due within this time. */
const removedWithinMs = 2 * 60 * 1000;

type Plan = Pick<ChunkedUpload, 'sizeBytes' | 'chunkBytes'>;

export function chunkCountOf({ sizeBytes, chunkBytes }: Plan): number {
  return Math.ceil(sizeBytes / chunkBytes);
}

/** Bytes of one chunk, which must be one of the plan's. */
export function sizeOfChunk({ sizeBytes, chunkBytes }: Plan, chunk: number): number {
  return Math.min(chunkBytes, sizeBytes - chunk * chunkBytes);
}

/** What the keys of an upload's chunks begin with, with its closing slash. */
export function chunkFolder({ tenant, repo, oid, upload }: UploadPath): string {
  return `${ownFolders.parts}/${tenant}/${repo}/${oid}/${upload}/`;
}

const chunkName = (chunk: number) => String(chunk).padStart(5, '0');

export function chunkKey(path: UploadPath, chunk: number): string {
  return chunkFolder(path) + chunkName(chunk);
}

/** The chunk that a key in its upload's folder is of. undefined: of none. */
export function chunkOfKey(path: UploadPath, key: string): number | undefined {
  const name = key.slice(chunkFolder(path).length);
  return /^\d{5}$/.test(name) && key === chunkFolder(path) + name ? Number(name) : undefined;
}

/** Numbers in their order → runs of them: 0, 1, 2, 5 → [0, 2], [5, 5]. */
export function runsOf(chunks: Iterable<number>): [first: number, last: number][] {
  const runs: [number, number][] = [];
  for (const chunk of chunks) {
    const run = runs.at(-1);
    if (run && chunk === run[1] + 1) run[1] = chunk;
    else runs.push([chunk, chunk]);
  }
  return runs;
}

/** A new one, without a token. */
export function newUpload(
  settings: Settings,
  input: UploadPath & Pick<ChunkedUpload, 'sizeBytes' | 'madeBy' | 'storageClass'> & { nowMs: number },
): ChunkedUpload {
  const { nowMs, ...rest } = input;
  return {
    ...rest,
    chunkBytes: chunkBytesOf(settings, input.sizeBytes),
    state: 'open',
    stateAtMs: nowMs,
    leaseUntilMs: 0,
    createdAtMs: nowMs,
    activeUntilMs: nowMs + activeForMs,
    putsUntilMs: 0,
    askedAtMs: 0,
    tokens: [],
    multipart: null,
  };
}

/** Whether a client can still send chunks of it. */
export function isOpen({ state, createdAtMs, activeUntilMs }: ChunkedUpload, nowMs: number): boolean {
  if (state !== 'open' && state !== 'assembling') return false;
  return nowMs < Math.min(activeUntilMs, createdAtMs + openForMs);
}

/**
 * Whether an object gets no other upload of a maker. One that has ended stays in its maker's way until its chunks are removed: its
 * claim counts them once. So of its bytes, what {@link perObjectMax} makers can store is not counted at most.
 */
export function crowded(
  uploads: readonly ChunkedUpload[],
  { madeBy, nowMs }: { madeBy: string; nowMs: number },
): Crowded | undefined {
  // One without a URL, that gets none any more, stores nothing.
  const kept = uploads.filter((upload) => isOpen(upload, nowMs) || upload.putsUntilMs > 0);
  const own = kept.find((upload) => upload.madeBy === madeBy);
  if (own) return { kind: 'busy', ownUntilMs: Math.max(dueAtMs(own), nowMs) + removedWithinMs };
  return kept.length >= perObjectMax ? { kind: 'busy' } : undefined;
}

/** The upload after a client has asked about it. */
export function renewed(upload: ChunkedUpload, nowMs: number): ChunkedUpload {
  const untilMs = Math.min(nowMs + activeForMs, upload.createdAtMs + openForMs);
  return { ...upload, activeUntilMs: Math.max(upload.activeUntilMs, untilMs) };
}

/** With one more token: the newest ones count. */
export function withToken(
  upload: ChunkedUpload,
  token: Omit<ChunkedUpload['tokens'][number], 'untilMs'>,
  nowMs: number,
): ChunkedUpload {
  const tokens = [...upload.tokens, { ...token, untilMs: nowMs + tokenForMs }].slice(-tokensMax);
  return { ...upload, tokens };
}

/** In another state, without a worker. */
export function inState(upload: ChunkedUpload, state: UploadState, nowMs: number): ChunkedUpload {
  return { ...upload, state, stateAtMs: nowMs, leaseUntilMs: 0 };
}

/** While a worker assembles it. */
export function withLease(upload: ChunkedUpload, nowMs: number): ChunkedUpload {
  return { ...upload, leaseUntilMs: nowMs + leaseMs };
}

/**
 * When no PUT of a chunk can land any more: its URL has expired, and the longest PUT that began before has ended, by any
 * clock.
 */
export function putsUntilMs(settings: Settings, { chunkBytes }: Plan, urlsUntilMs: number): number {
  const longestPutMs = settings.putGraceMs + Math.ceil((chunkBytes / settings.putMinBytesPerSecond) * 1000);
  return urlsUntilMs + longestPutMs + 2 * settings.clockSkewMs;
}

/**
 * Whether a multipart upload can still become the object. Stores date an object by when its upload began. So one takes no
 * longer than a PUT of that size is assumed to.
 */
export function isTimely(
  { putGraceMs, putMinBytesPerSecond }: Settings,
  { sizeBytes, multipart }: ChunkedUpload,
  nowMs: number,
): boolean {
  const longestMs = putGraceMs + (sizeBytes / putMinBytesPerSecond) * 1000;
  return multipart !== null && nowMs < multipart.beganAtMs + longestMs;
}

/** By when a worker has to look at it (`tidy`): to give it up, to go on, or to remove what is left of it. */
export function dueAtMs(upload: ChunkedUpload): number {
  const { state, stateAtMs, leaseUntilMs, activeUntilMs, putsUntilMs: untilMs } = upload;
  if (state === 'open') return activeUntilMs + skewMs;
  if (state === 'assembling') return leaseUntilMs;
  return Math.max(stateAtMs, untilMs);
}

/** Proofs that follow one another from the object's first byte on. */
export function provenRun(upload: Plan, proofs: Iterable<Proof>): { chunks: number; state: string } {
  const byChunk = new Map([...proofs].map((proof) => [proof.chunk, proof]));
  let [chunks, state] = [0, initialState];
  for (const count = chunkCountOf(upload); chunks < count; chunks += 1) {
    const proof = byChunk.get(chunks);
    if (proof?.before !== state || proof.sizeBytes !== sizeOfChunk(upload, chunks)) break;
    state = proof.after;
  }
  return { chunks, state };
}

/**
 * Whether the proofs show that the chunks are the object: each begins in the state in which the one before it ends, and
 * the last one ends with the oid.
 */
export function checkChain(upload: Plan & { oid: string }, proofs: Iterable<Proof>) {
  const known = [...proofs];
  const count = chunkCountOf(upload);
  const chunks = new Set(known.map(({ chunk }) => chunk).filter((chunk) => chunk < count));
  if (chunks.size < count) return 'missing';
  const run = provenRun(upload, known);
  return run.chunks === count && run.state === upload.oid ? 'whole' : 'wrong';
}
