import type { CoreDeps } from './core/ledger/core-deps.ts';
import { onePutEach } from './core/ledger/rules/upload-way.ts';
import { noClaims } from './core/ledger/seams.ts';
import type { NeedsOfAll } from './core/rules/types.ts';
import type { LfsPorts } from './frame/lfs/seams.ts';
import * as auditParts from './lists/audit-parts.ts';
import * as batching from './lists/batching.ts';
import * as belongings from './lists/belongings.ts';
import * as chores from './lists/chores.ts';
import * as claims from './lists/claims.ts';
import * as counting from './lists/counting.ts';
import * as ends from './lists/ends.ts';
import * as failureKinds from './lists/failure-kinds.ts';
import * as holds from './lists/holds.ts';
import * as offered from './lists/offered.ts';
import * as outlook from './lists/outlook.ts';
import * as repoParts from './lists/repo-parts.ts';
import * as subscriptionParts from './lists/subscription-parts.ts';
import * as userEnds from './lists/user-ends.ts';
import * as ways from './lists/ways.ts';
import { alertsOfLimits } from './subjects/alerts/seams.ts';
import { downloadMeter } from './subjects/downloads/downloads.ts';
import type { DownloadPorts } from './subjects/downloads/ports.ts';
import { publicAccess, readThrough } from './subjects/downloads/seams.ts';
import { hostLogin, publicByHost } from './subjects/hosts/seams.ts';

type Make = (deps: never) => unknown;
type Needs<F extends Make> = Parameters<F>[0];
/** What each of a list makes, by name: Node sorts the names of a namespace, and bundlers don't. */
export const each = <L extends Readonly<Record<string, Make>>>(list: L, deps: NeedsOfAll<L>) =>
  Object.keys(list)
    .sort()
    .map((name) => (list[name] as Make)(deps as never)) as ReturnType<L[keyof L]>[];

export const wayOf = (deps: NeedsOfAll<typeof ways>) => each(ways, deps)[0] ?? onePutEach;

export const claimsOf = (deps: NeedsOfAll<typeof claims>) => each(claims, deps)[0] ?? noClaims;

/** What the subjects have for the ledger where reconciles run. Other functions list their own in `lambda/functions/`. */
export function seamsOf(
  deps: NeedsOfAll<typeof counting> &
    NeedsOfAll<typeof belongings> &
    NeedsOfAll<typeof holds> &
    NeedsOfAll<typeof claims> &
    Omit<NeedsOfAll<typeof chores>, 'holds'>,
): Pick<CoreDeps, 'listeners' | 'belongings' | 'holds' | 'chores' | 'claims'> {
  const held = each(holds, deps);
  return {
    listeners: each(counting, deps),
    belongings: each(belongings, deps),
    holds: held,
    chores: each(chores, { ...deps, holds: held }),
    claims: claimsOf(deps),
  };
}

/** What they have for the LFS API. */
export function lfsSeamsOf(
  deps: Needs<typeof hostLogin> &
    Needs<typeof publicByHost> &
    Needs<typeof downloadMeter> &
    Needs<typeof readThrough> &
    Omit<Needs<typeof publicAccess>, 'meters' | 'publicWays'>,
): LfsPorts & Pick<DownloadPorts, 'publicWays'> {
  const meters = [downloadMeter(deps)];
  const publicWays = [publicByHost(deps)];
  return {
    logins: [hostLogin(deps)],
    meters,
    publicWays,
    publicAccess: publicAccess({ ...deps, meters, publicWays }),
    readThrough: readThrough(deps),
  };
}

/** What they have for the management API. */
export function managementSeamsOf(
  deps: NeedsOfAll<typeof repoParts> &
    NeedsOfAll<typeof subscriptionParts> &
    NeedsOfAll<typeof auditParts> &
    NeedsOfAll<typeof ends> &
    NeedsOfAll<typeof userEnds> &
    NeedsOfAll<typeof failureKinds> &
    NeedsOfAll<typeof offered>,
) {
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
    NeedsOfAll<typeof outlook> &
    NeedsOfAll<typeof ways>,
) {
  const listeners = [...each(batching, deps), alertsOfLimits(deps)];
  const way = wayOf(deps);
  return {
    ...seamsOf(deps),
    ...lfsSeamsOf({ ...deps, listeners, way }),
    ...managementSeamsOf(deps),
    listeners,
    belongings: each({ ...ends, ...belongings }, deps),
    outlook: each(outlook, deps)[0],
    way,
  };
}
