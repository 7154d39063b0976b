import type { RecountReason } from '../domain/recount-policy.ts';

/** One request for a recount. */
export interface RecountRequest {
  readonly tenant: string;
  /** Says whether somebody waits for it, and so how long it may be deferred. */
  readonly reason: RecountReason;
  /** List the whole tenant, repos that nobody knew too; otherwise only what may have changed. */
  readonly full: boolean;
}

/**
 * The queue of recounts: at least once, one at a time per tenant, bursts collapse, and a request is always
 * followed by a delivery that begins after it (a trailing trigger is never lost). One that somebody waits for is
 * never taken up by one that nobody waits for.
 */
export interface RecountQueue {
  request(request: RecountRequest): Promise<void>;
  /**
   * Many at once, of different tenants, in this order.
   *
   * @throws where some were not taken: those before them were.
   */
  requestAll(requests: readonly RecountRequest[]): Promise<void>;
}

/** When a message of the queue of recounts, whose recount failed, is delivered again. */
export interface Redelivery {
  /**
   * @param input.receiptHandle of the delivery that failed.
   * @throws where the queue does not answer: the message then comes again when the queue's own time is over.
   */
  delay(input: { receiptHandle: string; delayMs: number }): Promise<void>;
}
