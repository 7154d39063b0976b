import type { CoreDeps } from './core/ledger/core-deps.ts';
import { onePutEach } from './core/ledger/rules/upload-way.ts';
import { noClaims } from './core/ledger/seams.ts';
import type { NeedsOfAll, UnionToIntersection } from './core/rules/types.ts';
import { accessBelongings } from './frame/access/seams.ts';
import type { LfsPorts } from './frame/lfs/seams.ts';
import * as batches from './lists/batches.ts';
import * as claims from './lists/claims.ts';
import * as listening from './lists/listeners.ts';
import * as logins from './lists/logins.ts';
import * as management from './lists/management.ts';
import * as reconciles from './lists/reconciles.ts';
import * as subscriptionParts from './lists/subscription-parts.ts';
import * as ways from './lists/ways.ts';

type Make = (deps: never) => unknown;
type Needs<F extends Make> = Parameters<F>[0];
/** What each of a list makes, by name: Node sorts the names of a namespace, and bundlers don't. */
export const each = <L extends Readonly<Record<string, Make>>>(list: L, deps: NeedsOfAll<L>) =>
  Object.keys(list)
    .sort()
    .map((name) => (list[name] as Make)(deps as never)) as ReturnType<L[keyof L]>[];

/** The same in one: what each makes has other names. */
export const allOf = <L extends Readonly<Record<string, Make>>>(list: L, deps: NeedsOfAll<L>) =>
  Object.assign({}, ...each(list, deps)) as object & UnionToIntersection<ReturnType<L[keyof L]>>;

export type Those<L, N extends string> = {
  readonly [K in keyof L as L[K] extends Readonly<Record<N, unknown>> ? K : never]: L[K] extends Readonly<
    Record<N, infer M>
  >
    ? M
    : never;
};

/** What those of a list have by that name which have it. */
export const those = <L extends object, N extends string>(list: L, name: N) =>
  Object.fromEntries(
    Object.entries(list).flatMap(([key, of]) => (name in of ? [[key, of[name]]] : [])),
  ) as Those<L, N>;

type Merged<O> = [keyof O] extends [never] ? Readonly<Record<never, never>> : UnionToIntersection<O[keyof O]>;

/** The same in one: each has other names. */
export const allThose = <L extends object, N extends string>(list: L, name: N) =>
  Object.assign({}, ...Object.values(list).map((of) => of[name])) as Merged<Those<L, N>>;

export const wayOf = (deps: NeedsOfAll<typeof ways>) => each(ways, deps)[0] ?? onePutEach;

export const claimsOf = (deps: NeedsOfAll<typeof claims>) => each(claims, deps)[0] ?? noClaims;

/** What the subjects have for the ledger where reconciles run. Other functions list their own in `lambda/functions/`. */
export function seamsOf(
  deps: NeedsOfAll<typeof listening> &
    NeedsOfAll<Those<typeof reconciles, 'belongings'>> &
    NeedsOfAll<Those<typeof reconciles, 'holds'>> &
    NeedsOfAll<typeof claims> &
    Omit<NeedsOfAll<Those<typeof reconciles, 'chores'>>, 'holds'>,
): Pick<CoreDeps, 'belongings' | 'holds' | 'chores' | 'claims'> & {
  readonly listeners: readonly ReturnType<(typeof listening)[keyof typeof listening]>[];
} {
  const [holds, listeners] = [each(those(reconciles, 'holds'), deps), each(listening, deps)];
  return {
    listeners,
    belongings: [...listeners, ...each(those(reconciles, 'belongings'), deps)],
    holds,
    chores: each(those(reconciles, 'chores'), { ...deps, holds }),
    claims: claimsOf(deps),
  };
}

/** What they have for the LFS API. */
export function lfsSeamsOf(deps: NeedsOfAll<typeof logins> & NeedsOfAll<Those<typeof batches, 'seams'>>) {
  const [found = { meters: [] }]: Omit<LfsPorts, 'logins'>[] = each(those(batches, 'seams'), deps);
  return { logins: each(logins, deps), ...found };
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
    Omit<Needs<typeof lfsSeamsOf>, 'listeners' | 'way'> &
    Needs<typeof managementSeamsOf> &
    NeedsOfAll<typeof ways>,
) {
  const seams = seamsOf(deps);
  const way = wayOf(deps);
  const all = { ...deps, ...seams, way };
  return {
    ...seams,
    ...lfsSeamsOf(all),
    ...managementSeamsOf(deps),
    belongings: [
      ...seams.listeners,
      ...each({ ...ofManagement().ends, ...those(reconciles, 'belongings') }, deps),
    ],
    way,
  };
}
