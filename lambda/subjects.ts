import type { CoreDeps } from './core/ledger/core-deps.ts';
import { onePutEach } from './core/ledger/rules/upload-way.ts';
import type { Claims } from './core/ledger/seams.ts';
import { allOf, each, type Those, those } from './core/rules/lists.ts';
import type { NeedsOfAll } from './core/rules/types.ts';
import { accessBelongings } from './frame/access/seams.ts';
import * as batches from './lists/batches.ts';
import * as claims from './lists/claims.ts';
import * as listening from './lists/listeners.ts';
import * as logins from './lists/logins.ts';
import * as management from './lists/management.ts';
import * as metering from './lists/meters.ts';
import * as reconciles from './lists/reconciles.ts';
import * as subscriptionParts from './lists/subscription-parts.ts';

type Needs<F extends (deps: never) => unknown> = Parameters<F>[0];

export const wayOf = (deps: NeedsOfAll<Those<typeof batches, 'way'>>) =>
  each(those(batches, 'way'), deps)[0] ?? onePutEach;

/** Each ends those of its own kind. */
export function claimsOf(deps: NeedsOfAll<Those<typeof claims, 'claims'>>): Claims {
  const all = each(those(claims, 'claims'), deps);
  return { end: async (input) => (await Promise.all(all.map(({ end }) => end(input)))).flat() };
}

export const listenersOf = (deps: NeedsOfAll<Those<typeof listening, 'listener'>>) =>
  each(those(listening, 'listener'), deps);

/** What the subjects have for the ledger where reconciles run. Other functions list their own in `lambda/functions/`. */
export function seamsOf(
  deps: Needs<typeof listenersOf> &
    NeedsOfAll<Those<typeof reconciles, 'belongings'>> &
    NeedsOfAll<Those<typeof reconciles, 'holds'>> &
    Needs<typeof claimsOf> &
    Omit<NeedsOfAll<Those<typeof reconciles, 'chores'>>, 'holds'>,
): Pick<CoreDeps, 'belongings' | 'holds' | 'chores' | 'claims'> & {
  readonly listeners: ReturnType<typeof listenersOf>;
} {
  const [holds, listeners] = [each(those(reconciles, 'holds'), deps), listenersOf(deps)];
  // No literal at the call: without garbage collection, no chore asks for holds.
  const ofChores = { ...deps, holds };
  return {
    listeners,
    belongings: [...listeners, ...each(those(reconciles, 'belongings'), deps)],
    holds,
    chores: each(those(reconciles, 'chores'), ofChores),
    claims: claimsOf(deps),
  };
}

/** What they have for batches. */
export function batchSeamsOf(
  deps: NeedsOfAll<typeof logins> &
    NeedsOfAll<Those<typeof metering, 'meter'>> &
    Omit<NeedsOfAll<Those<typeof batches, 'seams'>>, 'meters'>,
) {
  const meters = each(those(metering, 'meter'), deps);
  return { logins: each(logins, deps), meters, ...allOf(those(batches, 'seams'), { ...deps, meters }) };
}

/** No constant: that would be in the bundle of each function. */
const ofManagement = () => ({
  auditParts: those(management, 'auditParts'),
  ends: { access: accessBelongings, ...those(management, 'ends') },
  failureKinds: those(management, 'failureKinds'),
  offered: those(management, 'offered'),
  repoParts: those(management, 'repoPart'),
  userEnds: those(management, 'userEnds'),
});
type OfManagement = ReturnType<typeof ofManagement>;

/** What they have for the management API. */
export function managementSeamsOf(
  deps: NeedsOfAll<typeof subscriptionParts> &
    NeedsOfAll<OfManagement['auditParts']> &
    NeedsOfAll<OfManagement['ends']> &
    NeedsOfAll<OfManagement['userEnds']> &
    NeedsOfAll<OfManagement['failureKinds']> &
    NeedsOfAll<OfManagement['offered']> &
    NeedsOfAll<OfManagement['repoParts']>,
) {
  const { auditParts, ends, failureKinds, offered, repoParts, userEnds } = ofManagement();
  return {
    repoParts: each(repoParts, deps),
    subscriptionParts: each(subscriptionParts, deps),
    auditParts: each(auditParts, deps),
    belongings: each(ends, deps),
    userEnds: each(userEnds, deps),
    failureKinds: each(failureKinds, deps),
    offered: each(offered, deps)[0] ?? (async () => []),
  };
}

/** All of them, where one process does everything. */
export function allSeamsOf(
  deps: Needs<typeof seamsOf> &
    Omit<Needs<typeof batchSeamsOf>, 'listeners' | 'way'> &
    Needs<typeof managementSeamsOf> &
    Needs<typeof wayOf>,
) {
  const seams = seamsOf(deps);
  const way = wayOf(deps);
  const all = { ...deps, ...seams, way };
  return {
    ...seams,
    ...batchSeamsOf(all),
    ...managementSeamsOf(deps),
    belongings: [
      ...seams.listeners,
      ...each({ ...ofManagement().ends, ...those(reconciles, 'belongings') }, deps),
    ],
    way,
  };
}
