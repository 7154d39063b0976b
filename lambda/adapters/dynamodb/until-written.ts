import { LedgerUnavailableError } from '../../ports/ledger-errors.ts';

/** How a request waits before it is sent again. */
export interface Pausing {
  /** Waits for as long as chance has it. Default: by Node's timers. */
  readonly pauseUpTo?: (atMostMs: number) => Promise<void>;
}

/** Of some that change an item at the same time, one succeeds in each round. */
const attemptsMax = 30;
/** Longest pause before the second attempt. It doubles with each further one. */
const baseDelayMs = 10;
const delayMaxMs = 500;

/**
 * Reads an item and writes what becomes of it, again until nobody else has written it in between.
 *
 * @param attempt undefined: somebody else has.
 * @throws {LedgerUnavailableError} if somebody else always has.
 */
export async function untilWritten<T>(
  { pauseUpTo = pauseByChance }: Pausing,
  attempt: () => Promise<{ readonly result: T } | undefined>,
): Promise<T> {
  for (let number = 1; number <= attemptsMax; number += 1) {
    const done = await attempt();
    if (done !== undefined) return done.result;
    await pauseUpTo(Math.min(delayMaxMs, baseDelayMs * 2 ** (number - 1)));
  }
  throw new LedgerUnavailableError(`An item was changed by others in each of ${attemptsMax} attempts.`);
}

export const pauseByChance = (atMostMs: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, Math.random() * atMostMs));

/** Tells one write from another, so that a client finds its own after a lost answer. */
export function newWriteId(): string {
  return crypto.randomUUID();
}
