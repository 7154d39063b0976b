import { urgencyOf } from '../../lambda/domain/recount-policy.ts';
import type { RecountRequest } from '../../lambda/ports/recount-queue.ts';

/** A tenant's pending recount: all requests since the last recount began, merged. */
export interface QueueMessage extends RecountRequest {
  readonly messageId: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Id of the request that asked for it, for the log. The first one if several were merged. */
  readonly correlationId: string | undefined;
  /** Somebody waits for this recount, so it does not wait for more requests. */
  readonly prompt: boolean;
  /** Number of deliveries that failed. */
  readonly failures: number;
  /** After a failure: earliest time of the next delivery. */
  readonly notBeforeMs: number;
}

export interface QueueTiming {
  /** A recount waits until no request came for this long … */
  readonly quietMs: number;
  /** … but at most this long after the first request. */
  readonly quietMaxMs: number;
  /** Shortest time between the starts of two recounts of one tenant. */
  readonly spacingMs: number;
  /** Delay after the first failure. It doubles with each further failure. */
  readonly retryMs: number;
  /** Delay of a recount that failed because the disk is full, which is no failure of its own. */
  readonly fullDiskRetryMs: number;
  /** After this many failures a message becomes a dead letter. */
  readonly failuresMax: number;
  /** A delivery that takes longer counts as failed. */
  readonly timeLimitMs: number;
}

export const defaultQueueTiming: QueueTiming = {
  quietMs: 10_000,
  quietMaxMs: 20_000,
  spacingMs: 10_000,
  retryMs: 5_000,
  fullDiskRetryMs: 15_000,
  failuresMax: 6,
  timeLimitMs: 15 * 60_000,
};

/** The message for a request of a tenant without a waiting message. */
export function newMessage(
  request: RecountRequest,
  at: { nowMs: number; messageId: string; correlationId?: string | undefined },
): QueueMessage {
  return {
    tenant: request.tenant,
    reason: request.reason,
    full: request.full,
    messageId: at.messageId,
    firstAtMs: at.nowMs,
    lastAtMs: at.nowMs,
    prompt: urgencyOf(request.reason) === 'decision',
    failures: 0,
    notBeforeMs: 0,
    correlationId: at.correlationId,
  };
}

/** Merges two pending recounts: full if either is full, and as urgent as the more urgent one. */
export function mergeMessages(older: QueueMessage, newer: QueueMessage): QueueMessage {
  return {
    tenant: older.tenant,
    messageId: older.messageId,
    correlationId: older.correlationId ?? newer.correlationId,
    reason: weightOf(older) > weightOf(newer) ? older.reason : newer.reason,
    full: older.full || newer.full,
    firstAtMs: older.firstAtMs,
    lastAtMs: newer.lastAtMs,
    prompt: older.prompt || newer.prompt,
    failures: Math.max(older.failures, newer.failures),
    notBeforeMs: Math.max(older.notBeforeMs, newer.notBeforeMs),
  };
}

/** A recount of the schedule is dropped if it is deferred, so a trigger counts for more. */
function weightOf({ prompt, reason }: QueueMessage): number {
  if (prompt) return 2;
  return reason === 'schedule' ? 0 : 1;
}

/** When to deliver a message. `lastBegunAtMs` is the start of the tenant's last recount. */
export function dueAtMs(message: QueueMessage, lastBegunAtMs: number, timing: QueueTiming): number {
  const quietAtMs = Math.min(message.lastAtMs + timing.quietMs, message.firstAtMs + timing.quietMaxMs);
  return Math.max(
    message.prompt ? message.firstAtMs : quietAtMs,
    lastBegunAtMs + timing.spacingMs,
    message.notBeforeMs,
  );
}

/** The message after one more failure. */
export function afterFailure(message: QueueMessage, nowMs: number, timing: QueueTiming): QueueMessage {
  const waitMs = timing.retryMs * 2 ** message.failures;
  return { ...message, failures: message.failures + 1, notBeforeMs: nowMs + waitMs };
}

/** The message after a failure that is the full disk's: it comes again, however often. */
export function afterFullDisk(message: QueueMessage, nowMs: number, timing: QueueTiming): QueueMessage {
  return { ...message, notBeforeMs: nowMs + timing.fullDiskRetryMs };
}
