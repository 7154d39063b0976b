import type { Settings } from '../../rules/settings.ts';
import type { RepoPath } from './tenant.ts';

/** What a client needs to go on with an upload that isn't one PUT. */
export interface Ticket {
  readonly upload: string;
  readonly token: string;
  readonly expiresInMs: number;
}

/** An object that gets no other upload of this kind now. */
export interface Crowded {
  readonly kind: 'busy';
  /** When one of the same maker ends that is in the way. Absent: others are. */
  readonly ownUntilMs?: number;
}

/** What goes another way. */
export interface WayInput extends RepoPath {
  /** oid → bytes, valid and distinct, in the order of the request. */
  readonly objects: ReadonlyMap<string, number>;
  /** Those of them that go this way. Default: none. */
  readonly chunked?: ReadonlySet<string>;
  /** Who asks: see {@link makerOf}. undefined: nobody who is held to account. */
  readonly madeBy?: string | undefined;
  /** Its end ends what goes this way: see `lastingTokenId`. */
  readonly tokenId?: string | undefined;
}

/**
 * Another way for objects of a batch than one PUT each. What goes it is reserved and counted as all else is. A batch is answered
 * after it, and not if it throws.
 *
 * @throws {LedgerUnavailableError} from each.
 */
export interface UploadWay {
  /** So long a reservation of such objects is live, unless `endChunked` ends it. */
  readonly claimedForMs: number;
  /** Beside the question what is stored. What was begun before goes on: it counts already. */
  readonly resume: (input: WayInput) => Promise<ReadonlyMap<string, Ticket | Crowded>>;
  /** Once it is counted, and before its reservation is issued. `isFull`: none may be issued. */
  readonly begin: (
    input: WayInput & { reservationId: string; nowMs: number; storageClass?: string | undefined },
  ) => Promise<{ tickets: ReadonlyMap<string, Ticket>; isFull: boolean }>;
  /** No client knows of these. */
  readonly remove: (input: RepoPath & { tickets: ReadonlyMap<string, Ticket> }) => Promise<void>;
}

/** The name of the transfer in batches. */
export const chunkedTransfer = 'lfs-quota';

/** As many parts as a multipart upload can have. */
export const chunksMax = 10_000;
/** Objects of more chunks than that have chunks of so many times the size. */
export const largerTimes = 8;

/** The largest object that a client can upload: in chunks, or by one PUT. */
export function uploadBytesMax(settings: Settings): number {
  const { objectBytesMax, chunkedBytesMax, chunkBytes } = settings;
  return Math.max(objectBytesMax, Math.min(chunkedBytesMax, chunksMax * largerTimes * chunkBytes));
}

/** Whether an object is uploaded in chunks, by a client that can. It's no larger than {@link uploadBytesMax}. */
export function isChunked(settings: Settings, sizeBytes: number): boolean {
  const { objectBytesMax, chunkedAboveBytes, chunkedBytesMax } = settings;
  return sizeBytes > Math.min(objectBytesMax, chunkedAboveBytes) && sizeBytes <= chunkedBytesMax;
}
