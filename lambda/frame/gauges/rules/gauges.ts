import type { Clock } from '../../../core/rules/clock-and-log.ts';
import type { ObjectListing } from '../../../core/store/rules/store.ts';
import type { DiskState } from './disk.ts';

/** Queues that the operator can look at. */
export const gaugedQueues = [
  'reconciles',
  'webhooks',
  'emails',
  'exports',
  'chunks',
  'copies',
  'store-events',
] as const;
export type GaugedQueue = (typeof gaugedQueues)[number];

/** What tells how a stage is. */
export interface GaugePorts {
  /** Those that this stack has. */
  readonly queueGauges: readonly QueueGauge[];
  readonly storeProbe: StoreProbe;
  /** Absent: nothing is on a disk of this server. */
  readonly disk?: (() => DiskState) | undefined;
}

/** How full a queue is, as it says itself: it may be some seconds behind, and count roughly. */
export interface QueueLevel {
  /** Messages that wait, also those whose time has not come. */
  readonly waiting: number;
  /** Messages that are delivered and not done. */
  readonly running: number;
  /** When the one was sent that has waited longest. null: none waits, or the queue does not tell. */
  readonly oldestAtMs: number | null;
  /** Messages that failed too often. null: the queue keeps none. */
  readonly deadLetters: number | null;
  /** Where those are: the URL of a queue, or the tenants that they are of. null: the queue has or keeps none. */
  readonly deadLettersAt: string | null;
}

/** One queue of this stack. */
export interface QueueGauge {
  readonly queue: GaugedQueue;
  /** @throws when the queue does not answer. */
  read(): Promise<QueueLevel>;
}

/** The object store, as the operator looks at it. */
export interface StoreProbe {
  readonly kind: 's3' | 'external' | 'embedded';
  /** Its base URL. null: that of S3 in its region. */
  readonly endpoint: string | null;
  readonly bucket: string;
  /** What is wrong in its folder, if this process has that. */
  readonly damage?: { read(): Promise<StoreDamage>; onLoss: (key: string) => void };
  /** One cheap request, with the credentials of the service. @throws {StoreUnavailableError | Error} if it is not served. */
  probe(): Promise<void>;
}

/** What the store of `serve` found in its folder. */
export interface StoreDamage {
  /** Objects that couldn't be read, and weren't stored again since. */
  readonly lost: number;
  /** Files in the folder `set-aside`. */
  readonly damaged: number;
  /** Files that aren't of the store. They harm nothing. */
  readonly foreign: number;
}

/** No tenant has this name, so there is nothing to be listed. */
const prefix = 'v1/';
const answerMs = 6_000;

/** Lists nothing: one LIST, which takes the bucket, the credentials and the right to list. */
export function createStoreProbe(
  { listing, clock }: { listing: Pick<ObjectListing, 'listPage'>; clock: Pick<Clock, 'nowMs'> },
  place: Omit<StoreProbe, 'probe'>,
): StoreProbe {
  return {
    ...place,
    async probe() {
      await listing.listPage({ prefix, maxKeys: 1, deadlineMs: clock.nowMs() + answerMs });
    },
  };
}
