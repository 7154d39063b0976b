import type { Log } from '../ports/log.ts';
import type { Redelivery } from '../ports/redelivery.ts';

const delayPerReceiveMs = 60_000;
const delayMaxMs = 15 * 60_000;

/** How long after its `receiveCount`-th delivery failed (1 for the first) a message is to come again. */
export function redeliveryDelayMs(receiveCount: number): number {
  const count = Number.isFinite(receiveCount) ? Math.max(1, receiveCount) : 1;
  return Math.min(delayPerReceiveMs * count, delayMaxMs);
}

/**
 * Lets a message that failed come again soon, and later each time. While it is hidden its tenant is not
 * recounted at all, and the queue's own time is for runs that died without a word: far longer than one run.
 *
 * Never throws: where it can't be done, the message comes again all the same.
 */
export async function delayRedelivery(
  deps: { readonly redelivery: Redelivery; readonly log: Log },
  message: { messageId: string; receiptHandle: string; receiveCount: number },
): Promise<void> {
  const { messageId, receiptHandle, receiveCount } = message;
  try {
    await deps.redelivery.delay({ receiptHandle, delayMs: redeliveryDelayMs(receiveCount) });
  } catch (error) {
    const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    deps.log.warn('the next try of a recount was not brought forward', { messageId, reason });
  }
}
