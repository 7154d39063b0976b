import type { Log } from '../ports/log.ts';
import type { Redelivery } from '../ports/recount-queue.ts';

const delayPerReceiveMs = 60_000;
const delayMaxMs = 10 * 60_000;

/**
 * Delay before a failed message is redelivered. It grows with each delivery, to spare a broken dependency. It is
 * bounded, so that tenants are recounted soon after the dependency recovers.
 *
 * @param receiveCount deliveries of the message so far, from 1. Anything that is not a number counts as 1.
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
 * Has a failed message redelivered after `delayMs`. Its tenant is not recounted before that. The queue's own
 * visibility timeout is far longer, because it is meant for runs that died.
 *
 * Never throws: if this fails, the message is still redelivered after that timeout.
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
