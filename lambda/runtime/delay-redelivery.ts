import { errorChain } from '../domain/error-chain.ts';
import type { Log } from '../ports/log.ts';
import type { Redelivery } from '../ports/redelivery.ts';

const delayPerReceiveMs = 60_000;
const delayMaxMs = 10 * 60_000;

/**
 * How long after its `receiveCount`-th delivery failed (1 for the first) a message is to come again. Ever longer,
 * so that what is broken is left alone; bounded, so that tenants are recounted soon after it is mended.
 */
export function redeliveryDelayMs(receiveCount: number): number {
  const count = Number.isFinite(receiveCount) ? Math.max(1, receiveCount) : 1;
  return Math.min(delayPerReceiveMs * count, delayMaxMs);
}

/** Of a message that can't be read, now or ever: no patience makes it right, and it stands before others of its group. */
export const unreadableDelayMs = 1_000;

/**
 * Lets a message that failed come again after `delayMs`. While it is hidden its tenant is not recounted at all,
 * and the queue's own time is for runs that died without a word: far longer than one run.
 *
 * Never throws: where it can't be done, the message comes again all the same.
 */
export async function delayRedelivery(
  deps: { readonly redelivery: Redelivery; readonly log: Log },
  delivery: { receiptHandle: string; delayMs: number },
): Promise<void> {
  try {
    await deps.redelivery.delay(delivery);
  } catch (error) {
    deps.log.warn('the next try of a recount was not brought forward', { reason: errorChain(error) });
  }
}
