import type { Settings } from '../rules/settings.ts';
import { mayBeginAtMs, queuedUrgencyOf } from './recount-policy.ts';
import type { TenantRecord } from './tenant.ts';

/**
 * How far the schedule has come through what is due. Each tenant is handed to the queue when it becomes due. Whatever
 * is due for longer is looked at in rounds, because messages get lost and recounts are deferred: in the order of time,
 * each run going on where the one before has ended. So nobody keeps others waiting, however long he stays due.
 */
export interface RefreshState {
  /** All that was due until then has been handed on. */
  readonly handedUntilMs: number;
  readonly round: LookRound;
  /** When the last run began that came to its end. For people: nothing is decided by it. An older version did not write it. */
  readonly ranAtMs?: number | undefined;
}

/** A round through what is still due. */
export interface LookRound {
  readonly beganMs: number;
  /** It looks at what was due until then. */
  readonly untilMs: number;
  /** It has looked at what was due until then. */
  readonly doneUntilMs: number;
  /** The round before it. What that one looked at was looked at since it began. */
  readonly lastBeganMs: number;
  readonly lastUntilMs: number;
  /** All others were handed on at this time or later. */
  readonly sinceMs: number;
  /** What the next round looks at. */
  readonly nextUntilMs: number;
}

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

const minuteMs = 60_000;
/** From the beginning of a round to that of the next, at least. */
export const lookAgainMs = 5 * minuteMs;
/**
 * What was handed on is handed on again after this time, even if its message seems to wait: longer than the tries of a
 * message that fails each time.
 */
export const handAgainMs = 180 * minuteMs;

/**
 * What became due less than this ago is left to the next run: by the clock of its writer it may be due later, and the
 * index may not show it yet. What a run misses waits for a round.
 */
export const settledMs = 10_000;

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
export interface RefreshRun {
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
 * or be retried: nobody has counted or charged the tenant since. And not if its recount would be deferred.
 */
export function mayBeHandedAgain(
  settings: Pick<Settings, 'recountRestMs' | 'clockSkewMs'>,
  input: { due: DueTenant; tenant: TenantRecord; round: LookRound; nowMs: number },
): boolean {
  const { due, tenant, round, nowMs } = input;
  // When the last recount, or what it listed, let the next one begin.
  const beginAtMs = mayBeginAtMs(settings, { tenant, urgency: queuedUrgencyOf(tenant, 'schedule') });
  const isHandled = beginAtMs >= lastLookMs(round, due) - 2 * settings.clockSkewMs;
  const periodsUntil = (atMs: number) => Math.floor((atMs - due.dueAtMs) / handAgainMs);
  const isLost = periodsUntil(round.beganMs) > Math.max(0, periodsUntil(round.lastBeganMs));
  const deletes = due.deletes || tenant.closedAtMs !== null;
  return (isHandled || isLost) && (deletes || beginAtMs <= nowMs);
}
