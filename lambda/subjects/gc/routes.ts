import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { formatBytes } from '../../core/rules/sizes.ts';
import { json, pathRepo, type Refusal } from '../../frame/api/http.ts';
import { problem, repoNotFound } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { isManager } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { day, type GcBody, gcContract, minAgeDaysDefault } from './contract.ts';
import { cancelGc, type NotReady, openGc, readGc, signReachableSet, startRun } from './gc.ts';
import type { GcPorts } from './ports.ts';
import {
  candidatesKey,
  type Gc,
  isTooMuch,
  isUnderWay,
  type Selection,
  setsBytesMax,
  snapshotFromMs,
} from './rules/gc.ts';

type Needs = Pick<CoreDeps, 'listing' | 'signer' | 'queue' | 'ids'> & GcPorts;

export const gcOperations = operationsFor<Needs>()(gcContract, {
  'GET /v1/tenants/{tenant}/repos/{repo}/gc': async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    const gc = repo === undefined ? undefined : await readGc(deps, { tenant, repo });
    return gc ? json(200, await gcBody(deps, { tenant, gc })) : noGc(tenant);
  },

  /** From now on each push notes what it names. */
  'POST /v1/tenants/{tenant}/repos/{repo}/gc': async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant);
    const outcome = await openGc(deps, { tenant, repo });
    switch (outcome.kind) {
      case 'open':
        return json(201, await gcBody(deps, { tenant, gc: outcome.gc }));
      case 'no-repo':
        return repoNotFound(tenant);
      case 'wrong-kind':
        return problem('wrong-kind', outcome.detail);
      case 'busy':
        return problem('gc-ending', `Garbage collection of ${repo} is still ending. Retry in a minute.`);
    }
  },

  /** What is not deleted yet stays. */
  'DELETE /v1/tenants/{tenant}/repos/{repo}/gc': async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    const gc = repo === undefined ? undefined : await cancelGc(deps, { tenant, repo });
    if (gc === 'busy') return problem('gc-running', `Garbage collection of ${repo} keeps changing. Retry.`);
    return gc ? json(200, await gcBody(deps, { tenant, gc })) : noGc(tenant);
  },

  /** A URL to which the file of the reachable set is sent. */
  'POST /v1/tenants/{tenant}/repos/{repo}/gc/reachable-set': async (
    deps,
    { tenant: { tenant }, body, event },
  ) => {
    const repo = pathRepo(event);
    if (repo === undefined) return noGc(tenant);
    const outcome = await signReachableSet(deps, {
      tenant,
      repo,
      reachableCount: body.objects,
      reachableSha256: body.sha256,
    });
    if (outcome.kind === 'too-much')
      return problem(
        'gc-running',
        `Garbage collections of ${tenant} have reachable sets of up to ${formatBytes(setsBytesMax)} together. Retry when another has ended, for an hour or less, or cancel one: lfs-quota gc --cancel.`,
      );
    if (outcome.kind !== 'signed') return notReady(tenant, outcome);
    return json(200, { url: outcome.put.href, headers: outcome.put.header });
  },

  'POST /v1/tenants/{tenant}/repos/{repo}/gc/run': async (
    deps,
    { tenant: { tenant }, body, event, ...reader },
  ) => {
    const repo = pathRepo(event);
    if (repo === undefined) return noGc(tenant);
    // A stolen job frees no more than half.
    if (body.force && !isManager(reader))
      return problem('scope-too-small', 'force requires the admin token, or one with the manage scope.');
    const { reachableSet, dryRun = true, force = false, minAgeDays = minAgeDaysDefault, rule } = body;
    const outcome = await startRun(deps, {
      tenant,
      repo,
      reachableCount: reachableSet.objects,
      reachableSha256: reachableSet.sha256,
      isDryRun: dryRun,
      isForced: force,
      minAgeMs: minAgeDays * day,
      ...(rule && { rule: `${rule.days}/${rule.versions}` }),
    });
    if (outcome.kind !== 'started') return notReady(tenant, outcome);
    return json(202, await gcBody(deps, { tenant, gc: outcome.gc }));
  },
});

function notReady(tenant: string, outcome: NotReady): Refusal {
  switch (outcome.kind) {
    case 'not-open':
      return noGc(tenant);
    case 'too-early':
      return problem(
        'gc-too-early',
        `It's too early: older pushes might still be in progress. Start at ${iso(outcome.fromMs)}: list the refs, scan the clone, then send the reachable set.`,
      );
    case 'running':
      return problem('gc-running', 'A run is in progress. Wait for it, or cancel it: lfs-quota gc --cancel.');
  }
}

function noGc(tenant: string): Refusal {
  return problem(
    'gc-not-found',
    `That repo of ${tenant} has no open garbage collection. Run first: lfs-quota gc`,
  );
}

/** Files of candidates that are shown: those of a million objects. */
const listsMax = 100;

type BodyDeps = Pick<CoreDeps, 'signer' | 'clock' | 'settings'>;

/** A gc run, with new URLs for the lists of what it found. */
async function gcBody(deps: BodyDeps, { tenant, gc }: { tenant: string; gc: Gc }): Promise<GcBody> {
  const { repo, state, watch, run, selection, failure, progress, endedAtMs } = gc;
  const fromMs = snapshotFromMs(gc, deps.settings);
  return {
    tenant,
    repo,
    state,
    openedAt: iso(watch.openedAtMs),
    snapshotFrom: iso(fromMs),
    mayRun: state === 'watching' && deps.clock.nowMs() >= fromMs,
    watchEndsAt: iso(watch.untilMs),
    endedAt: endedAtMs === null ? null : iso(endedAtMs),
    run: run && {
      requestedAt: iso(run.requestedAtMs),
      dryRun: run.isDryRun,
      force: run.isForced,
      minAgeDays: run.minAgeMs / day,
      reachableSetObjects: run.reachableCount,
    },
    found: selection && {
      stored: selection.listed,
      kept: selection.kept,
      young: selection.young,
      inUse: selection.inUse,
      ...reservedBody(selection),
      candidates: selection.candidates,
      isMoreThanHalf: isTooMuch(selection),
      largest: [...selection.largest],
      lists: isUnderWay(gc) ? await signedLists(deps, { tenant, gc }) : [],
    },
    failure,
    deleted: progress.deleted,
  };
}

function reservedBody({ reserved }: Selection): Pick<NonNullable<GcBody['found']>, 'reserved'> {
  if (!reserved) return {};
  const { untilMs, ...sum } = reserved;
  return { reserved: { ...sum, until: iso(untilMs) } };
}

async function signedLists(
  { signer, clock, settings }: BodyDeps,
  { tenant, gc: { watch, selection } }: { tenant: string; gc: Gc },
): Promise<{ url: string }[]> {
  if (!selection) return [];
  const times = { signedAtMs: clock.nowMs(), lifetimeMs: settings.urlLifetimeMs };
  const files = Array.from({ length: Math.min(selection.files, listsMax) }, (_, file) => file);
  return Promise.all(
    files.map(async (file) => {
      const key = candidatesKey({ tenant, watchId: watch.id }, { folder: selection.folder, file });
      return { url: (await signer.signDownload({ key, ...times })).href };
    }),
  );
}
