import type { RecountReason } from '../domain/recount-policy.ts';

/** A request for a recount. */
export interface RecountRequest {
  readonly tenant: string;
  /** Tells whether somebody waits for it, and so how long it may be deferred. */
  readonly reason: RecountReason;
  /** List the whole tenant, unknown repos included. Otherwise only what may have changed. */
  readonly full: boolean;
}

/**
 * The queue of recounts. It delivers at least once, and one message at a time for each tenant. Requests in quick
 * succession collapse into one, but a delivery always begins after the last of them.
 *
 * The message is the first of them, so a request may join only one that does as much for it:
 *
 * - A full one joins full ones.
 * - One that somebody waits for joins those that somebody waits for. All others may be deferred for longer.
 * - One of the schedule is dropped if it is deferred, because the tenant stays due. All others are sent again. So only
 *   those of the schedule join one of the schedule.
 *
 * A queue that merges them into one message must keep the stronger of both in each respect.
 */
export interface RecountQueue {
  request(request: RecountRequest): Promise<void>;
  /**
   * Requests recounts of many tenants, in this order.
   *
   * @throws when the queue did not accept some. It did accept all before them.
   */
  requestAll(requests: readonly RecountRequest[]): Promise<void>;
}

/** When the queue redelivers a message whose recount failed. */
export interface Redelivery {
  /**
   * Redelivers a message after `delayMs`.
   *
   * @param input.receiptHandle of the delivery that failed.
   * @throws when the queue does not answer. It then redelivers the message after its visibility timeout.
   */
  delay(input: { receiptHandle: string; delayMs: number }): Promise<void>;
}
