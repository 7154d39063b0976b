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
  /** The largest object that can go it. */
  readonly bytesMax: number;
  /** Whether an object goes it, by a client that can. It's no larger than `bytesMax`, or than one PUT can be. */
  readonly takes: (sizeBytes: number) => boolean;
  /** So long a reservation of such objects is live, unless `endChunked` ends it. */
  readonly claimedForMs: number;
  /** How often bytes that go it lie on the store's disk for a while. */
  readonly diskCopies: number;
  /** Beside the question what is stored. What was begun before goes on: it counts already. */
  readonly resume: (input: WayInput) => Promise<ReadonlyMap<string, Ticket | Crowded>>;
  /** Once it is counted, and before its reservation is issued. `isFull`: none may be issued. */
  readonly begin: (
    input: WayInput & { reservationId: string; nowMs: number; storageClass?: string | undefined },
  ) => Promise<{ tickets: ReadonlyMap<string, Ticket>; isFull: boolean }>;
  /** No client knows of these. */
  readonly remove: (input: RepoPath & { tickets: ReadonlyMap<string, Ticket> }) => Promise<void>;
}

/** If no subject has another. */
export const onePutEach: UploadWay = {
  bytesMax: 0,
  takes: () => false,
  claimedForMs: 0,
  diskCopies: 1,
  resume: async () => new Map(),
  begin: async () => ({ tickets: new Map(), isFull: false }),
  remove: async () => undefined,
};

/** The name of the transfer in batches. */
export const chunkedTransfer = 'lfs-quota';
