/** How often the policy of recounts (docs/ledger.md) has a tenant counted: what follows from it in time. */

export interface RecountPolicy {
  /** Shortest time between two recounts that nobody waits for. */
  readonly restSeconds: number;
  /** What is dearer waits longer. */
  readonly listRequestsPerHour: number;
  /** A tenant where something happens is counted in full as often … */
  readonly maxAgeHours: number;
  /** … and one where nothing does less and less often, down to this. */
  readonly idleMaxHours: number;
}

/** Triggers of the same so many seconds are one message, which is handled so many seconds after it was sent. */
const collapseSeconds = 30;
const delaySeconds = 35;
/** How far the background may overdraw the budget of LIST requests. */
const overdraftSeconds = 300;
/** Due times are up to a tenth early, evenly. */
const spreadMean = 0.95;

/** Messages of the queue that one push leads to, by what becomes of them. */
export interface PushRecounts {
  readonly thatScan: number;
  /** Everything was seen by an earlier one. */
  readonly thatDoNot: number;
  readonly deferred: number;
}

/** The mean over where in its 30 s a push begins. */
export function recountsOfPush(push: {
  /** From its first request to its last upload. */
  pushSeconds: number;
  /** Until its last trigger, which may come later. */
  triggerSeconds: number;
  /** LIST requests of one scan. */
  scanRequests: number;
  policy: RecountPolicy;
}): PushRecounts {
  const phases = Array.from({ length: collapseSeconds }, (_, second) => second + 0.5);
  const all = phases.map((phaseSeconds) => recountsFrom({ ...push, phaseSeconds }));
  const mean = (of: keyof PushRecounts) => all.reduce((sum, each) => sum + each[of], 0) / phases.length;
  return { thatScan: mean('thatScan'), thatDoNot: mean('thatDoNot'), deferred: mean('deferred') };
}

/** Plays the queue through, second by second from the push's first request. */
function recountsFrom(push: Parameters<typeof recountsOfPush>[0] & { phaseSeconds: number }): PushRecounts {
  const { pushSeconds, triggerSeconds, phaseSeconds, policy } = push;
  const chargeSeconds = (push.scanRequests * 3600) / policy.listRequestsPerHour;
  const bucketOf = (seconds: number) => Math.floor((seconds + phaseSeconds) / collapseSeconds);
  // The first trigger of each bucket is the one that is sent.
  const sent = Array.from({ length: bucketOf(triggerSeconds) + 1 }, (_, bucket) =>
    Math.max(0, bucket * collapseSeconds - phaseSeconds),
  );
  const buckets = new Set(sent.keys());
  let [thatScan, thatDoNot, deferred] = [0, 0, 0];
  let [restedAt, listedUntil, isSeen] = [0, 0, false];
  for (const sentAt of sent) {
    const at = sentAt + delaySeconds;
    if (at < restedAt || at < listedUntil - overdraftSeconds) {
      deferred += 1;
      if (!buckets.has(bucketOf(at))) sent.push(at);
      buckets.add(bucketOf(at));
      continue;
    }
    restedAt = at + policy.restSeconds;
    if (isSeen) {
      thatDoNot += 1;
      continue;
    }
    thatScan += 1;
    isSeen = at >= pushSeconds;
    listedUntil = Math.max(at, listedUntil) + chargeSeconds;
  }
  return { thatScan, thatDoNot, deferred };
}

/** Of one tenant, in a month of `monthHours`. */
export interface FullCounts {
  readonly perMonth: number;
  /** How much of the time its count is older than the largest age, so that whoever asks has it counted anew. */
  readonly staleShare: number;
}

/**
 * Full counts by the schedule. After each that finds nothing changed the next comes after twice the time; what
 * happens in a tenant brings it back to the largest age.
 *
 * @param input.activeTimes how often in the month something happens, evenly spread.
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
  // Recounts between them leave the full ones due as they were.
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
