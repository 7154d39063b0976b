import type { CoreDeps } from './core/ledger/core-deps.ts';
import { accessBelongings } from './frame/access/seams.ts';
import type { LfsPorts } from './frame/lfs/seams.ts';
import type { ManagementPorts } from './frame/management/seams.ts';
import type { AlertPorts } from './subjects/alerts/ports.ts';
import { alertBelongings, alertsOfBatches, alertsOfCounts, alertsOfLimits } from './subjects/alerts/seams.ts';
import { chunkClaims, chunkedWay } from './subjects/chunks/seams.ts';
import { ciBelongings } from './subjects/ci/seams.ts';
import { downloadMeter } from './subjects/downloads/downloads.ts';
import type { DownloadPorts } from './subjects/downloads/ports.ts';
import { copiesPart, publicRepoPart } from './subjects/downloads/repo-parts.ts';
import { publicAccess, publicBelongings, readThrough } from './subjects/downloads/seams.ts';
import { exportEnds, exportFailures, exportHold, exportTies } from './subjects/exports/seams.ts';
import { gcBelongings, gcChore } from './subjects/gc/seams.ts';
import type { OfferedPorts } from './subjects/history/ports.ts';
import { outlookPart, weekPart } from './subjects/history/routes.ts';
import { historyBelongings, historyOfBatches, historyOfCounts, outlookOf } from './subjects/history/seams.ts';
import { linkedRepoPart } from './subjects/hosts/repo-parts.ts';
import { hostBelongings, hostLogin, publicByHost } from './subjects/hosts/seams.ts';
import { invitationsEnd } from './subjects/invitations/seams.ts';
import { lockBelongings } from './subjects/locks/seams.ts';
import type { SignInPorts } from './subjects/sign-in/ports.ts';
import { signInBelongings } from './subjects/sign-in/seams.ts';
import type { StatusPorts } from './subjects/status/ports.ts';

type Needs<F extends (deps: never) => unknown> = Parameters<F>[0];

/** What the subjects have for the ledger where reconciles run. Other functions list their own in `lambda/functions/`. */
export function seamsOf(
  deps: Needs<typeof historyOfCounts> &
    Needs<typeof alertsOfCounts> &
    Needs<typeof alertBelongings> &
    Needs<typeof publicBelongings> &
    Needs<typeof hostBelongings> &
    Needs<typeof lockBelongings> &
    Needs<typeof exportHold> &
    Needs<typeof chunkClaims> &
    Needs<typeof gcBelongings> &
    Omit<Needs<typeof gcChore>, 'holds'>,
): Pick<CoreDeps, 'listeners' | 'belongings' | 'holds' | 'chores' | 'claims'> {
  const holds = [exportHold(deps)];
  return {
    listeners: [historyOfCounts(deps), alertsOfCounts(deps)],
    // In the order in which they are asked.
    belongings: [
      alertBelongings(deps),
      gcBelongings(deps),
      publicBelongings(deps),
      hostBelongings(deps),
      lockBelongings(deps),
      historyBelongings(deps),
    ],
    holds,
    chores: [gcChore({ ...deps, holds })],
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

/** What they add to answers of the management API. */
export function managementSeamsOf(
  deps: Needs<typeof publicRepoPart> &
    Needs<typeof linkedRepoPart> &
    Needs<typeof weekPart> &
    Needs<typeof copiesPart> &
    Needs<typeof exportEnds>,
): ManagementPorts {
  return {
    repoParts: [publicRepoPart(deps), linkedRepoPart(deps), weekPart(deps), copiesPart(deps)],
    subscriptionParts: [outlookPart(deps)],
    auditParts: [exportEnds(deps)],
  };
}

/** All of them, where one process does everything. */
export function allSeamsOf(
  deps: Needs<typeof seamsOf> &
    Omit<Needs<typeof lfsSeamsOf>, 'listeners' | 'way'> &
    Needs<typeof managementSeamsOf> &
    Needs<typeof outlookOf> &
    Needs<typeof invitationsEnd> &
    Pick<DownloadPorts, 'downloads'> &
    Needs<typeof ciBelongings> &
    Needs<typeof signInBelongings> &
    Needs<typeof accessBelongings> &
    Needs<typeof exportTies> &
    Needs<typeof chunkedWay>,
): ReturnType<typeof seamsOf> &
  Pick<CoreDeps, 'way'> &
  Pick<StatusPorts, 'failureKinds'> &
  Pick<AlertPorts, 'outlook'> &
  Pick<SignInPorts, 'userEnds'> &
  OfferedPorts &
  Pick<DownloadPorts, 'publicWays'> &
  LfsPorts &
  ManagementPorts {
  const seams = seamsOf(deps);
  const listeners = [historyOfBatches(deps), alertsOfBatches(deps), alertsOfLimits(deps)];
  const way = chunkedWay(deps);
  return {
    ...seams,
    ...lfsSeamsOf({ ...deps, listeners, way }),
    ...managementSeamsOf(deps),
    listeners,
    belongings: [
      ...seams.belongings,
      ciBelongings(deps),
      signInBelongings(deps),
      accessBelongings(deps),
      exportTies(deps),
    ],
    outlook: outlookOf(deps),
    offered: (of) => deps.downloads.months(of),
    way,
    userEnds: [invitationsEnd(deps)],
    failureKinds: [exportFailures(deps)],
  };
}
