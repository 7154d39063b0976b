import type { CoreDeps } from './core/ledger/core-deps.ts';
import type { NeedsOfAll } from './core/rules/types.ts';
import type { LfsPorts } from './frame/lfs/seams.ts';
import type { ManagementPorts } from './frame/management/seams.ts';
import * as batching from './lists/batching.ts';
import * as belongings from './lists/belongings.ts';
import * as chores from './lists/chores.ts';
import * as counting from './lists/counting.ts';
import * as ends from './lists/ends.ts';
import * as holds from './lists/holds.ts';
import * as repoParts from './lists/repo-parts.ts';
import type { AlertPorts } from './subjects/alerts/ports.ts';
import { alertsOfLimits } from './subjects/alerts/seams.ts';
import { chunkClaims, chunkedWay } from './subjects/chunks/seams.ts';
import { downloadMeter } from './subjects/downloads/downloads.ts';
import type { DownloadPorts } from './subjects/downloads/ports.ts';
import { publicAccess, readThrough } from './subjects/downloads/seams.ts';
import { exportEnds, exportFailures } from './subjects/exports/seams.ts';
import type { OfferedPorts } from './subjects/history/ports.ts';
import { outlookPart } from './subjects/history/routes.ts';
import { outlookOf } from './subjects/history/seams.ts';
import { hostLogin, publicByHost } from './subjects/hosts/seams.ts';
import { invitationsEnd } from './subjects/invitations/seams.ts';
import type { SignInPorts } from './subjects/sign-in/ports.ts';
import type { StatusPorts } from './subjects/status/ports.ts';

type Make = (deps: never) => unknown;
type Needs<F extends Make> = Parameters<F>[0];
/** What each of a list makes, by name: Node sorts the names of a namespace, and bundlers don't. */
export const each = <L extends Readonly<Record<string, Make>>>(list: L, deps: NeedsOfAll<L>) =>
  Object.entries(list)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, make]) => make(deps as never)) as ReturnType<L[keyof L]>[];

/** What the subjects have for the ledger where reconciles run. Other functions list their own in `lambda/functions/`. */
export function seamsOf(
  deps: NeedsOfAll<typeof counting> &
    NeedsOfAll<typeof belongings> &
    NeedsOfAll<typeof holds> &
    Needs<typeof chunkClaims> &
    Omit<NeedsOfAll<typeof chores>, 'holds'>,
): Pick<CoreDeps, 'listeners' | 'belongings' | 'holds' | 'chores' | 'claims'> {
  const held = each(holds, deps);
  return {
    listeners: each(counting, deps),
    belongings: each(belongings, deps),
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

type ManagementSeams = ManagementPorts &
  Pick<CoreDeps, 'belongings'> &
  Pick<StatusPorts, 'failureKinds'> &
  Pick<SignInPorts, 'userEnds'> &
  OfferedPorts;

/** What they have for the management API. */
export function managementSeamsOf(
  deps: NeedsOfAll<typeof repoParts> &
    NeedsOfAll<typeof ends> &
    Needs<typeof outlookPart> &
    Needs<typeof exportEnds> &
    Needs<typeof exportFailures> &
    Needs<typeof invitationsEnd> &
    Pick<DownloadPorts, 'downloads'>,
): ManagementSeams {
  return {
    repoParts: each(repoParts, deps),
    subscriptionParts: [outlookPart(deps)],
    auditParts: [exportEnds(deps)],
    belongings: each(ends, deps),
    userEnds: [invitationsEnd(deps)],
    failureKinds: [exportFailures(deps)],
    offered: (of) => deps.downloads.months(of),
  };
}

/** All of them, where one process does everything. */
export function allSeamsOf(
  deps: Needs<typeof seamsOf> &
    Omit<Needs<typeof lfsSeamsOf>, 'listeners' | 'way'> &
    Needs<typeof managementSeamsOf> &
    Needs<typeof outlookOf> &
    Needs<typeof chunkedWay>,
): ReturnType<typeof seamsOf> &
  Pick<CoreDeps, 'way'> &
  Pick<AlertPorts, 'outlook'> &
  ReturnType<typeof lfsSeamsOf> &
  ManagementSeams {
  const listeners = [...each(batching, deps), alertsOfLimits(deps)];
  const way = chunkedWay(deps);
  return {
    ...seamsOf(deps),
    ...lfsSeamsOf({ ...deps, listeners, way }),
    ...managementSeamsOf(deps),
    listeners,
    belongings: each({ ...ends, ...belongings }, deps),
    outlook: outlookOf(deps),
    way,
  };
}
