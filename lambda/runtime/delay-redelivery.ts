import type { Log } from '../ports/log.ts';
import type { Redelivery } from '../ports/recount-queue.ts';

const delayPerReceiveMs = 60_000;
const delayMaxMs = 10 * 60_000;

/**
 * Delay before a message is redelivered whose `receiveCount`-th delivery (from 1) failed. It grows, to leave a
 * broken dependency alone, and is bounded, so that tenants are recounted soon after it recovers.
 */
export function redeliveryDelayMs(receiveCount: number): number {
  const count = Number.isFinite(receiveCount) ? Math.max(1, receiveCount) : 1;
  return Math.min(delayPerReceiveMs * count, delayMaxMs);
}

/**
 * Delay for a message that does not parse. Retrying never helps, and it blocks its message group, so it is short.
 */
export const unreadableDelayMs = 1_000;

/**
 * Has a failed message redelivered after `delayMs`. Its tenant is not recounted while the message is hidden, and
 * the queue's own visibility time, meant for runs that died, is far longer than one run.
 *
 * Never throws: without it the message is redelivered too, only later.
 */
export async function delayRedelivery(
  deps: { readonly redelivery: Redelivery; readonly log: Log },
  delivery: { receiptHandle: string; delayMs: number },
): Promise<void> {
  try {
    await deps.redelivery.delay(delivery);
  } catch (error) {
    deps.log.warn('could not shorten the delay before the next try', { error });
  }
}
