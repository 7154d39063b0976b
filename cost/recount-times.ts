import { lookAgainAtMs } from '../lambda/domain/recount-policy.ts';

/** How often the recount policy (docs/ledger.md) counts a tenant. */

export interface RecountPolicy {
  /** Shortest time between two recounts that nobody waits for. */
  readonly restSeconds: number;
  /** The budget of a tenant. Recounts that cost more wait longer. */
  readonly listRequestsPerHour: number;
  /** Time between two full counts of a tenant in use. */
  readonly maxAgeHours: number;
  /** Longest time between two full counts of an idle tenant. It is counted less and less often, down to this. */
  readonly idleMaxHours: number;
}

/** Triggers in the same 30 s share one message. It is delivered 35 s after it was sent. */
const collapseSeconds = 30;
const delaySeconds = 35;
/** From when a tenant is due until a run of the schedule queues it, on average. */
const untilRunSeconds = 30;
/** How far background recounts may overdraw the budget of LIST requests. */
const overdraftSeconds = 300;
/** Due times are up to a tenth early, evenly spread. */
const spreadMean = 0.95;

/** Messages of the queue that one push causes, by their outcome. */
export interface PushRecounts {
  readonly thatScan: number;
  /** An earlier recount has seen everything. */
  readonly thatDoNot: number;
  readonly deferred: number;
}

/** The mean over all moments of a 30 s bucket at which a push may begin. */
export function recountsOfPush(push: {
  /** From its first request to its last upload. */
  pushSeconds: number;
  /** When its triggers come: its batches, verifies, and events of the store. In seconds from its first request. */
  triggers: readonly number[];
  /** LIST requests of one scan. */
  scanRequests: number;
  policy: RecountPolicy;
}): PushRecounts {
  const phases = Array.from({ length: collapseSeconds }, (_, second) => second + 0.5);
  const all = phases.map((phaseSeconds) => recountsFrom({ ...push, phaseSeconds }));
  const mean = (of: keyof PushRecounts) => all.reduce((sum, each) => sum + each[of], 0) / phases.length;
  return { thatScan: mean('thatScan'), thatDoNot: mean('thatDoNot'), deferred: mean('deferred') };
}

/** Simulates queue and schedule, in seconds from the push's first request. */
function recountsFrom(push: Parameters<typeof recountsOfPush>[0] & { phaseSeconds: number }): PushRecounts {
  const { pushSeconds, triggers, phaseSeconds, policy } = push;
  const chargeSeconds = (push.scanRequests * 3600) / policy.listRequestsPerHour;
  const bucketOf = (seconds: number) => Math.floor((seconds + phaseSeconds) / collapseSeconds);
  const buckets = new Set<number>();
  const waiting = [...triggers];
  let lookAt: number | undefined;
  let [thatScan, thatDoNot, deferred] = [0, 0, 0];
  let [restedAt, listedUntil, isSeen] = [0, 0, false];
  while (waiting.length > 0 || lookAt !== undefined) {
    waiting.sort((a, b) => a - b);
    const isLook = lookAt !== undefined && lookAt < (waiting[0] ?? Number.POSITIVE_INFINITY);
    const sentAt = (isLook ? lookAt : waiting.shift()) ?? 0;
    // The first trigger of each bucket is the one that is sent.
    if (!isLook && buckets.has(bucketOf(sentAt))) continue;
    if (!isLook) buckets.add(bucketOf(sentAt));
    const at = sentAt + delaySeconds;
    if (at < restedAt || at < listedUntil - overdraftSeconds) {
      deferred += 1;
      if (isLook) lookAt = sentAt + 2 * untilRunSeconds;
      else waiting.push(at);
      continue;
    }
    restedAt = at + policy.restSeconds;
    lookAt = undefined;
    if (isSeen) {
      thatDoNot += 1;
      continue;
    }
    thatScan += 1;
    isSeen = at >= pushSeconds;
    listedUntil = Math.max(at, listedUntil) + chargeSeconds;
    const begunAt = Math.max(0, ...triggers.filter((trigger) => trigger <= Math.min(at, pushSeconds)));
    const dueMs = lookAgainAtMs(
      { recountRestMs: 1000 * policy.restSeconds },
      {
        newestUploadMs: 1000 * begunAt,
        countedAtMs: 1000 * at,
        listedMs: 1000 * chargeSeconds,
        listedUntilMs: 1000 * listedUntil,
      },
    );
    if (!isSeen) lookAt = dueMs / 1000 + untilRunSeconds;
  }
  return { thatScan, thatDoNot, deferred };
}

/** The full counts of one tenant in a month of `monthHours`. */
export interface FullCounts {
  readonly perMonth: number;
  /** Share of the time in which its count is older than `maxAgeHours`, so that a read recounts it. */
  readonly staleShare: number;
}

/**
 * Full counts by the schedule. If a count finds no change, the next comes after twice the time. Activity resets the
 * time to `maxAgeHours`.
 *
 * @param input.activeTimes how often something happens in the month, evenly spread.
 */
export function fullCountsOf(input: {
  activeTimes: number;
  monthHours: number;
  policy: RecountPolicy;
}): FullCounts {
  const { activeTimes, monthHours, policy } = input;
  const { maxAgeHours, idleMaxHours } = policy;
  if (activeTimes === 0) {
    const interval = spreadMean * Math.max(idleMaxHours, maxAgeHours);
    return { perMonth: monthHours / interval, staleShare: Math.max(0, 1 - maxAgeHours / interval) };
  }
  const gapHours = monthHours / activeTimes;
  const shortest = spreadMean * maxAgeHours;
  // Recounts in between do not change when full counts are due.
  if (gapHours <= shortest) return { perMonth: monthHours / shortest, staleShare: 0 };
  let [countedAt, interval, counts, staleHours] = [0, shortest, 0, 0];
  while (countedAt + interval < gapHours) {
    countedAt += interval;
    counts += 1;
    staleHours += Math.max(0, interval - maxAgeHours);
    interval = spreadMean * Math.max(maxAgeHours, Math.min(2 * interval, idleMaxHours));
  }
  staleHours += Math.max(0, gapHours - countedAt - maxAgeHours);
  return { perMonth: counts * activeTimes, staleShare: staleHours / gapHours };
}
