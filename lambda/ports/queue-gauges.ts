/** Queues that the operator can look at. */
export const gaugedQueues = ['recounts', 'webhooks', 'exports', 'store-events'] as const;
export type GaugedQueue = (typeof gaugedQueues)[number];

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
