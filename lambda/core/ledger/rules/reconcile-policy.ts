import * as z from 'zod';
import { sha256Hex } from '../../rules/hash.ts';
import type { Settings } from '../../rules/settings.ts';
import type { Frozen } from '../../rules/stored.ts';
import { listsOfMonth, type ShardLists, type TenantRecord } from './tenant.ts';

/** Why a reconcile is requested. */
export type ReconcileReason =
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

/** `decision`: somebody waits for the reconcile, a person or a client that was answered 429 or 202. */
export type Urgency = 'background' | 'decision';

const urgencies: Readonly<Record<ReconcileReason, Urgency>> = {
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

export function urgencyOf(reason: ReconcileReason): Urgency {
  return urgencies[reason];
}

export function isReconcileReason(value: unknown): value is ReconcileReason {
  return typeof value === 'string' && Object.hasOwn(urgencies, value);
}

/**
 * Requests for reconciles of one tenant within the same bucket of this length collapse into one message.
 *
 * A FIFO queue remembers a deduplication id for five minutes, even after its message is gone, so the id carries the
 * bucket. The queue delivers later than a whole bucket after the send, so after every request that collapsed. A
 * request made while a message is handled falls into a later bucket, so it is never lost.
 */
export const reconcileCollapseMs = 30_000;

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/**
 * How far the tenant's budget of LIST requests may be overdrawn when a reconcile begins: in the background a little, so that
 * cheap scans are not delayed because somebody asked in between, and an hour if somebody waits.
 *
 * In any time, a tenant lists up to its budget, the overdraft, and the scan that overdrew it. Deletes list on top. A
 * reconcile that crashes is charged nothing. One that fails is charged at each try.
 */
const overdraftMs: Readonly<Record<Urgency, number>> = { background: 5 * minuteMs, decision: hourMs };
/**
 * How far it may be overdrawn by what is listed at once, within a request or at the beginning of a gc run. It is half as
 * far, so who looks again and again never keeps the queue from counting.
 *
 * With an hour for both, reads that end unfinished after 20 s would use it up: a page that asked every 10 s kept a
 * tenant of 10,000 LISTs from being counted for 48 hours.
 */
const atOnceOverdraftMs = overdraftMs.decision / 2;

type Budget = Pick<TenantRecord, 'listedUntilMs' | 'scanned'>;

/**
 * The urgency of a reconcile from the queue. A tenant that was never counted takes no uploads: somebody waits, whoever
 * asks.
 *
 * The price: an initial scan that is overtaken after more than 1,200 LISTs waits until all but an hour of them is paid
 * for.
 */
export function queuedUrgencyOf(tenant: Budget, reason: ReconcileReason): Urgency {
  return tenant.scanned === null ? 'decision' : urgencyOf(reason);
}

/**
 * From when on a reconcile may begin, in milliseconds since 1970.
 *
 * In the background, the beginnings of two reconciles are also at least `reconcileRestMs` apart. That rest isn't charged:
 * otherwise ten reads of usage would defer the reconcile after the next push by ten minutes.
 */
function mayBeginAtMs(
  settings: Pick<Settings, 'reconcileRestMs'>,
  input: { tenant: Budget; urgency: Urgency },
): number {
  const { tenant, urgency } = input;
  const affordableAtMs = tenant.listedUntilMs - overdraftMs[urgency];
  const restedAtMs =
    urgency === 'background' && tenant.scanned ? tenant.scanned.scannedAtMs + settings.reconcileRestMs : 0;
  return Math.max(affordableAtMs, restedAtMs);
}

/** How long a reconcile must wait, in milliseconds. 0: it may begin. */
export function reconcileWaitMs(
  settings: Pick<Settings, 'reconcileRestMs'>,
  input: { tenant: Budget; urgency: Urgency; nowMs: number },
): number {
  return Math.max(0, mayBeginAtMs(settings, input) - input.nowMs);
}

/**
 * The budget as a leaky bucket: until when the LIST requests so far use it up. Each request costs its share of an
 * hour, which begins now or when the earlier requests are paid for.
 *
 * A time, not a counter per window: a counter needs its window's start, and lets twice its worth through at each turn.
 * The time is written with the commit or with the release of the lease, so it costs no request.
 */
export function chargedUntilMs(
  settings: Pick<Settings, 'listRequestsPerHour'>,
  input: { listedUntilMs: number; requests: number; nowMs: number },
): number {
  const { listedUntilMs, requests, nowMs } = input;
  if (requests === 0) return listedUntilMs;
  return Math.max(nowMs, listedUntilMs) + Math.ceil((requests * hourMs) / settings.listRequestsPerHour);
}

/** LIST requests that a reconcile within a request may make. 0: it must not begin. */
export function listsAtOnceMax(
  settings: Pick<Settings, 'listRequestsPerHour'>,
  input: { listedUntilMs: number; nowMs: number },
): number {
  const leftMs = atOnceOverdraftMs - Math.max(0, input.listedUntilMs - input.nowMs);
  return Math.max(0, Math.floor((leftMs * settings.listRequestsPerHour) / hourMs));
}

/**
 * How far the choice of a gc run's candidates may overdraw the budget: after its first step a little further than the
 * background, which it shares the budget with.
 */
const selectionOverdraftMs = { first: atOnceOverdraftMs, next: 2 * overdraftMs.background };
/** A step waits no longer for the budget, so reconciles that fail again and again don't keep a gc run from ending. */
const selectionWaitMaxMs = 30 * minuteMs;

/** From when on candidates of a gc run may be listed. @param input.sinceMs when they were listed last, or asked for. */
export function mayListCandidatesAtMs(input: { listedUntilMs: number; sinceMs: number }): number {
  return Math.min(input.listedUntilMs - overdraftMs.background, input.sinceMs + selectionWaitMaxMs);
}

/**
 * LIST requests that a step of that choice may make.
 *
 * @param input.listedUntilMs of the tenant.
 * @param input.gcCount of the tenant: together they list no faster than the budget lets them when each has waited long
 * enough, so they never keep the queue from counting.
 */
export function candidateListsMax(
  settings: Pick<Settings, 'listRequestsPerHour'>,
  input: { listedUntilMs: number; isFirst: boolean; gcCount?: number; nowMs: number },
): number {
  const { isFirst, gcCount = 1 } = input;
  const overdrawnMs = Math.max(0, input.listedUntilMs - input.nowMs);
  const leftMs = selectionOverdraftMs[isFirst ? 'first' : 'next'] - overdrawnMs;
  const usedMs = Math.max(leftMs, overdraftMs.background / gcCount);
  return Math.max(1, Math.floor((usedMs * settings.listRequestsPerHour) / hourMs));
}

/** Looks for uploads under way use at most one part in this many of the budget. */
const looksShare = 4;

/**
 * When a tenant is to be counted again because uploads may be under way: nobody tells when they have arrived, unless
 * they are the last of their batch or large. It is soon, and the longer ago they began the later, because what has not
 * arrived for long rarely does. It is not before the budget lets it begin: a tenant that is deferred is handed on in
 * vain, and waits for a round of the schedule.
 *
 * Not chosen: a message in the queue (a FIFO queue has no delay for one message, so it would be sent again every 35 s);
 * HEADs of the unseen objects (they find what landed after the scan); a due time on each reservation (moving it
 * rewrites an item of up to 8 KB).
 *
 * @param input.newestUploadMs when the newest of them began.
 * @param input.scannedAtMs when this count began.
 * @param input.listedMs what this count uses of the budget.
 * @param input.listedUntilMs until when the budget is used up, with this count.
 */
export function lookAgainAtMs(
  settings: Pick<Settings, 'reconcileRestMs'>,
  input: { newestUploadMs: number; scannedAtMs: number; listedMs: number; listedUntilMs: number },
): number {
  const { newestUploadMs, scannedAtMs, listedMs, listedUntilMs } = input;
  const agedMs = Math.ceil((scannedAtMs - newestUploadMs) / 2);
  const wantedMs = scannedAtMs + Math.max(settings.reconcileRestMs, agedMs, looksShare * listedMs);
  return Math.max(wantedMs, listedUntilMs - overdraftMs.background);
}

type DueSettings = Pick<Settings, 'maxAgeMs' | 'idleRefreshMaxMs'>;

/** A reconcile, and its tenant. */
interface DueInput {
  readonly tenant: string;
  readonly epoch: number;
  readonly scannedAtMs: number;
  /** The budget after the reconcile. The tenant is not due before the budget lets it be counted. */
  readonly listedUntilMs: number;
}

/** A due time comes earlier than its interval says, by up to this share of the interval. */
const spreadShare = 0.1;

/**
 * When a tenant is due again after a full count: after `maxAgeMs`. If nothing has changed, after twice the time in
 * which nothing changed, but at most `idleRefreshMaxMs`.
 *
 * @param input.unchangedForMs time since the last count. 0 if anything changed since, or is about to change.
 */
export function dueAfterFullMs(settings: DueSettings, input: DueInput & { unchangedForMs: number }): number {
  const idleMs = Math.min(2 * input.unchangedForMs, settings.idleRefreshMaxMs);
  return spread(input, Math.max(settings.maxAgeMs, idleMs));
}

/** When a tenant is due after a count in part. Something happens in it, so after `maxAgeMs` at the latest. */
export function dueAfterActivityMs(settings: DueSettings, input: DueInput & { dueAtMs: number }): number {
  return Math.min(input.dueAtMs, spread(input, settings.maxAgeMs));
}

/** Tenants that were counted together get different due times. The same tenant and epoch always get the same one. */
function spread(input: DueInput, intervalMs: number): number {
  const share = Number.parseInt(sha256Hex(`${input.tenant}#${input.epoch}`).slice(0, 8), 16) / 2 ** 32;
  const dueAtMs = Math.round(input.scannedAtMs + intervalMs * (1 - spreadShare * share));
  return Math.max(dueAtMs, input.listedUntilMs);
}

/** A round through what is still due. */
const lookRound = z.object({
  beganMs: z.number(),
  /** It looks at what was due until then. */
  untilMs: z.number(),
  /** It has looked at what was due until then. */
  doneUntilMs: z.number(),
  /** The round before it. What that one looked at was looked at since it began. */
  lastBeganMs: z.number(),
  lastUntilMs: z.number(),
  /** All others were handed on at this time or later. */
  sinceMs: z.number(),
  /** What the next round looks at. */
  nextUntilMs: z.number(),
});
type LookRound = Frozen<z.output<typeof lookRound>>;

/**
 * How far the schedule has come through what is due. Each tenant is handed to the queue when it becomes due. Whatever
 * is due for longer is looked at in rounds, because messages get lost and reconciles are deferred: in the order of time,
 * each run going on where the one before has ended. So nobody keeps others waiting, however long he stays due.
 *
 * Nothing is written to a tenant, so no due time gets lost. If each run took the longest due instead, 300 deferred
 * tenants would fill every run. A message a minute for each would pile up while the store is down.
 */
export const refreshSchema = z.object({
  /** All that was due until then has been handed on. */
  handedUntilMs: z.number(),
  round: lookRound,
  /** When the last run began that came to its end. For people: nothing is decided by it. An older version did not write it. */
  ranAtMs: z.number().optional(),
});
export type RefreshState = Frozen<z.output<typeof refreshSchema>>;

/** What is due, as the schedule finds it. */
export interface DueTenant {
  readonly tenant: string;
  /** A count of the whole tenant. */
  readonly full: boolean;
  /** Objects or repos are to be deleted, which no budget defers. */
  readonly deletes: boolean;
  /** Since when. */
  readonly dueAtMs: number;
}
/** From the beginning of a round to that of the next, at least. */
export const lookAgainMs = 5 * minuteMs;
/**
 * What was handed on is handed on again after this time, even if its message seems to wait: longer than the tries of a
 * message that fails each time.
 */
export const handAgainMs = 180 * minuteMs;

/** Nothing has been handed on. */
export const noRefreshState: RefreshState = {
  handedUntilMs: 0,
  round: {
    beganMs: 0,
    untilMs: 0,
    doneUntilMs: 0,
    lastBeganMs: 0,
    lastUntilMs: 0,
    sinceMs: 0,
    nextUntilMs: 0,
  },
};

/** What a run has handed on and looked at. */
interface RefreshRun {
  readonly handedUntilMs: number;
  readonly lookedUntilMs: number;
  readonly beganMs: number;
}

/** The state in which a run begins: in a new round, if the last one is over and began long enough ago. */
export function beginRun(state: RefreshState, nowMs: number): RefreshState {
  const { round } = state;
  if (round.doneUntilMs < round.untilMs || nowMs < round.beganMs + lookAgainMs) return state;
  const { beganMs: lastBeganMs, untilMs: lastUntilMs, nextUntilMs } = round;
  return {
    ...state,
    round: {
      beganMs: nowMs,
      untilMs: nextUntilMs,
      doneUntilMs: 0,
      lastBeganMs,
      lastUntilMs,
      // Those that the last round did not look at were handed on after the one before it had begun.
      sinceMs: round.lastBeganMs === 0 ? lastBeganMs : round.lastBeganMs,
      nextUntilMs,
    },
  };
}

/** The state after a run. What the run that began a round has handed on is looked at in the next one. */
export function endRun(state: RefreshState, run: RefreshRun): RefreshState {
  const { handedUntilMs, lookedUntilMs, beganMs } = run;
  const isFirstOfRound = state.round.beganMs === beganMs;
  return {
    handedUntilMs,
    ranAtMs: beganMs,
    round: {
      ...state.round,
      doneUntilMs: lookedUntilMs,
      ...(isFirstOfRound && { nextUntilMs: handedUntilMs }),
    },
  };
}

/** When a round's tenant was last handed on or looked at: at this time or later. */
export function lastLookMs(round: LookRound, { dueAtMs }: Pick<DueTenant, 'dueAtMs'>): number {
  return dueAtMs <= round.lastUntilMs ? round.lastBeganMs : round.sinceMs;
}

/**
 * Whether a tenant that was handed on and is still due is handed on again. Not if its message must still be waiting,
 * or be retried: nobody has counted or charged the tenant since. And not if its reconcile would be deferred.
 */
export function mayBeHandedAgain(
  settings: Pick<Settings, 'reconcileRestMs' | 'clockSkewMs'>,
  input: { due: DueTenant; tenant: TenantRecord; round: LookRound; nowMs: number },
): boolean {
  const { due, tenant, round, nowMs } = input;
  // When the last reconcile, or what it listed, let the next one begin.
  const beginAtMs = mayBeginAtMs(settings, { tenant, urgency: queuedUrgencyOf(tenant, 'schedule') });
  const isHandled = beginAtMs >= lastLookMs(round, due) - 2 * settings.clockSkewMs;
  const periodsUntil = (atMs: number) => Math.floor((atMs - due.dueAtMs) / handAgainMs);
  const isLost = periodsUntil(round.beganMs) > Math.max(0, periodsUntil(round.lastBeganMs));
  const deletes = due.deletes || tenant.closedAtMs !== null;
  return (isHandled || isLost) && (deletes || beginAtMs <= nowMs);
}

/** Until when LIST requests for shards are paid for, and how many were made in a month. */
export interface ShardCharge {
  readonly shardsListedUntilMs: number;
  /** undefined: none ever. */
  readonly shardLists?: ShardLists | undefined;
}

/** The same with some more requests. @param before as a reconcile found it. */
export function chargedForShards(
  settings: Pick<Settings, 'shardListsPerHour'>,
  input: {
    before: Pick<TenantRecord, 'shardsListedUntilMs' | 'shardLists'>;
    requests: number;
    nowMs: number;
  },
): ShardCharge {
  const { before, requests, nowMs } = input;
  const earlier = listsOfMonth(before.shardLists, nowMs);
  const shardsListedUntilMs = chargedUntilMs(
    { listRequestsPerHour: settings.shardListsPerHour },
    { listedUntilMs: before.shardsListedUntilMs ?? 0, requests, nowMs },
  );
  return {
    shardsListedUntilMs,
    ...((requests > 0 || before.shardLists) && {
      shardLists: { ...earlier, requests: earlier.requests + requests },
    }),
  };
}

/** A request for a reconcile. */
export interface ReconcileRequest {
  readonly tenant: string;
  /** Tells whether somebody waits for it, and so how long it may be deferred. */
  readonly reason: ReconcileReason;
  /** List the whole tenant, unknown repos included. Otherwise only what may have changed. */
  readonly full: boolean;
}

/**
 * The queue of reconciles. It delivers at least once, and one message at a time for each tenant. Requests in quick
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
export interface ReconcileQueue {
  request(request: ReconcileRequest): Promise<void>;
  /**
   * Requests reconciles of many tenants, in this order.
   *
   * @throws when the queue did not accept some. It did accept all before them.
   */
  requestAll(requests: readonly ReconcileRequest[]): Promise<void>;
}
