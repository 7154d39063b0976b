import type { CoreDeps } from './core/ledger/core-deps.ts';
import type { NeedsOfAll } from './core/rules/types.ts';
import type { LfsPorts } from './frame/lfs/seams.ts';
import * as auditParts from './lists/audit-parts.ts';
import * as belongings from './lists/belongings.ts';
import * as chores from './lists/chores.ts';
import * as ends from './lists/ends.ts';
import * as failureKinds from './lists/failure-kinds.ts';
import * as holds from './lists/holds.ts';
import * as listening from './lists/listeners.ts';
import * as offered from './lists/offered.ts';
import * as repoParts from './lists/repo-parts.ts';
import * as subscriptionParts from './lists/subscription-parts.ts';
import * as userEnds from './lists/user-ends.ts';
import { chunkClaims, chunkedWay } from './subjects/chunks/seams.ts';
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

/** What the subjects have for the ledger where reconciles run. Other functions list their own in `lambda/functions/`. */
export function seamsOf(
  deps: NeedsOfAll<typeof listening> &
    NeedsOfAll<typeof belongings> &
    NeedsOfAll<typeof holds> &
    Needs<typeof chunkClaims> &
    Omit<NeedsOfAll<typeof chores>, 'holds'>,
): Pick<CoreDeps, 'belongings' | 'holds' | 'chores' | 'claims'> & {
  readonly listeners: readonly ReturnType<(typeof listening)[keyof typeof listening]>[];
} {
  const [held, listeners] = [each(holds, deps), each(listening, deps)];
  return {
    listeners,
    belongings: [...listeners, ...each(belongings, deps)],
    holds: held,
    chores: each(chores, { ...deps, holds: held }),
    claims: chunkClaims(deps),
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
    Needs<typeof chunkedWay>,
) {
  const seams = seamsOf(deps);
  const way = chunkedWay(deps);
  return {
    ...seams,
    ...lfsSeamsOf({ ...deps, ...seams, way }),
    ...managementSeamsOf(deps),
    belongings: [...seams.listeners, ...each({ ...ends, ...belongings }, deps)],
    way,
  };
}
