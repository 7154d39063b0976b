import { sha256Hex } from './hash.ts';
import type { Settings } from './settings.ts';
import type { TenantRecord } from './tenant.ts';

/** Why a tenant is to be recounted. */
export type RecountReason =
  | 'upload'
  | 'verify'
  | 'event'
  | 'delete'
  | 'import'
  | 'miss'
  | 'refusal'
  | 'schedule'
  | 'manual'
  | 'unfinished';

/** Whether somebody waits for a recount: a person, or a client that was answered 429 or 202. */
export type Urgency = 'background' | 'decision';

const urgencies: Readonly<Record<RecountReason, Urgency>> = {
  upload: 'background',
  verify: 'background',
  event: 'background',
  schedule: 'background',
  delete: 'decision',
  import: 'decision',
  miss: 'decision',
  refusal: 'decision',
  manual: 'decision',
  unfinished: 'decision',
};

export function urgencyOf(reason: RecountReason): Urgency {
  return urgencies[reason];
}

export function isRecountReason(value: unknown): value is RecountReason {
  return typeof value === 'string' && Object.hasOwn(urgencies, value);
}

/**
 * Requests for recounts of one tenant within the same bucket of this length collapse into one message.
 *
 * A FIFO queue remembers a deduplication id for five minutes, even after its message is gone, so the id carries the
 * bucket. The queue delivers later than a whole bucket after the send, so after every request that collapsed. A
 * request made while a message is handled falls into a later bucket, so it is never lost.
 */
export const recountCollapseMs = 30_000;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * How far a tenant's budget of LIST requests may be overdrawn when a recount begins. A little by the background,
 * so that cheap scans are not late because somebody looked in between; an hour where somebody waits; and a day
 * for the first count, which only tries of its own that failed can use up.
 */
const overdraftMs: Readonly<Record<Urgency | 'first', number>> = {
  background: 5 * minuteMs,
  decision: hourMs,
  first: 24 * hourMs,
};

type Budget = Pick<TenantRecord, 'listedUntilMs' | 'counted'>;

/** Which overdraft the queue's consumer has: a tenant that was never counted must be counted, whoever asks. */
export function queuedUrgencyOf(tenant: Budget, reason: RecountReason): Urgency | 'first' {
  return tenant.counted === null ? 'first' : urgencyOf(reason);
}

/**
 * How long a recount has to wait; 0 where it may begin.
 *
 * In the background there is also a rest between the beginnings of two recounts.
 */
export function recountWaitMs(
  settings: Pick<Settings, 'recountRestMs'>,
  input: { tenant: Budget; urgency: Urgency | 'first'; nowMs: number },
): number {
  const { tenant, urgency, nowMs } = input;
  const affordableAtMs = tenant.listedUntilMs - overdraftMs[urgency];
  const restedAtMs =
    urgency === 'background' && tenant.counted ? tenant.counted.countedAtMs + settings.recountRestMs : 0;
  return Math.max(0, affordableAtMs - nowMs, restedAtMs - nowMs);
}

/**
 * The budget as a leaky bucket in time: until then the LISTs so far have used it up. Each costs its part of an
 * hour, from now on or from when the earlier ones are paid.
 */
export function chargedUntilMs(
  settings: Pick<Settings, 'listRequestsPerHour'>,
  input: { listedUntilMs: number; requests: number; nowMs: number },
): number {
  const { listedUntilMs, requests, nowMs } = input;
  if (requests === 0) return listedUntilMs;
  return Math.max(nowMs, listedUntilMs) + Math.ceil((requests * hourMs) / settings.listRequestsPerHour);
}

type DueSettings = Pick<Settings, 'maxAgeMs' | 'idleRefreshMaxMs'>;

/** Of one tenant's recount. */
interface DueInput {
  readonly tenant: string;
  readonly epoch: number;
  readonly countedAtMs: number;
  /** The budget after it: before that the schedule would come in vain. */
  readonly listedUntilMs: number;
}

/** Due times are up to so much of their interval earlier. */
const spreadShare = 0.1;

/**
 * When a tenant that was counted in full is to be counted so again: after the largest age; where nothing had
 * changed, after twice the time in which it had not, up to the setting.
 *
 * @param input.unchangedForMs 0 where anything changed, or is about to.
 */
export function dueAfterFullMs(settings: DueSettings, input: DueInput & { unchangedForMs: number }): number {
  const idleMs = Math.min(2 * input.unchangedForMs, settings.idleRefreshMaxMs);
  return spread(input, Math.max(settings.maxAgeMs, idleMs));
}

/** When a tenant is due that was counted in part, so something happens in it: after the largest age at the latest. */
export function dueAfterActivityMs(settings: DueSettings, input: DueInput & { dueAtMs: number }): number {
  return Math.min(input.dueAtMs, spread(input, settings.maxAgeMs));
}

/** The same tenant and epoch give the same time; those that were counted together drift apart. */
function spread(input: DueInput, intervalMs: number): number {
  const share = Number.parseInt(sha256Hex(`${input.tenant}#${input.epoch}`).slice(0, 8), 16) / 2 ** 32;
  const dueAtMs = Math.round(input.countedAtMs + intervalMs * (1 - spreadShare * share));
  return Math.max(dueAtMs, input.listedUntilMs);
}
