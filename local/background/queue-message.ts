import { urgencyOf } from '../../lambda/domain/recount-policy.ts';
import type { RecountRequest } from '../../lambda/ports/recount-queue.ts';

/** A tenant's recount that is owed: all requests since the last one began, as one. */
export interface QueueMessage extends RecountRequest {
  readonly messageId: string;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** What it was asked for by, for the log; of several, the first. */
  readonly correlationId: string | undefined;
  /** Somebody waits for this recount: it is not held back for more triggers. */
  readonly prompt: boolean;
  /** How often it was delivered and failed. */
  readonly failures: number;
  /** After a failure: not delivered before this. */
  readonly notBeforeMs: number;
}

export interface QueueTiming {
  /** A recount waits this long for more triggers … */
  readonly quietMs: number;
  /** … but steady triggers hold it back no longer than this after the first. */
  readonly quietMaxMs: number;
  /** Shortest time between the beginnings of two recounts of one tenant. */
  readonly spacingMs: number;
  /** Wait after the first failure; it doubles with each. */
  readonly retryMs: number;
  /** After so many failures a message is laid aside. */
  readonly failuresMax: number;
  /** A delivery that takes longer counts as failed. */
  readonly timeLimitMs: number;
}

export const defaultQueueTiming: QueueTiming = {
  quietMs: 10_000,
  quietMaxMs: 20_000,
  spacingMs: 10_000,
  retryMs: 5_000,
  failuresMax: 6,
  timeLimitMs: 15 * 60_000,
};

/** The message that a request leads to where nothing waits yet. */
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

/** Two recounts that are owed, as one: it lists the whole tenant if either does, and is as urgent as either. */
export function mergeMessages(older: QueueMessage, newer: QueueMessage): QueueMessage {
  return {
    tenant: older.tenant,
    messageId: older.messageId,
    correlationId: older.correlationId ?? newer.correlationId,
    reason: older.prompt && !newer.prompt ? older.reason : newer.reason,
    full: older.full || newer.full,
    firstAtMs: older.firstAtMs,
    lastAtMs: newer.lastAtMs,
    prompt: older.prompt || newer.prompt,
    failures: Math.max(older.failures, newer.failures),
    notBeforeMs: Math.max(older.notBeforeMs, newer.notBeforeMs),
  };
}

/** When a message is to be delivered. `lastBegunAtMs` is when the tenant's last recount began. */
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
