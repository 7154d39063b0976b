import type { Deps } from '../../deps.ts';
import {
  cancelCleanup,
  type NotReady,
  openCleanup,
  readCleanup,
  signKeepSet,
  startRun,
} from '../../gc/gc.ts';
import {
  type Cleanup,
  candidatesKey,
  isTooMuch,
  isUnderWay,
  type Selection,
  snapshotFromMs,
} from '../../gc/rules/gc.ts';
import { iso } from '../contract/fields.ts';
import { type CleanupBody, cleanupContract, day, minAgeDaysDefault } from '../contract/gc.ts';
import { json, pathRepo, type Response } from '../http.ts';
import { problem, repoNotFound } from '../problems.ts';
import { operations } from './operations.ts';

export const cleanupOperations = operations(cleanupContract, {
  'GET /v1/tenants/{tenant}/repos/{repo}/cleanup': async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    const cleanup = repo === undefined ? undefined : await readCleanup(deps, { tenant, repo });
    return cleanup ? json(200, await cleanupBody(deps, { tenant, cleanup })) : noCleanup(tenant);
  },

  /** From now on each push notes what it names. */
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup': async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return repoNotFound(tenant);
    const outcome = await openCleanup(deps, { tenant, repo });
    switch (outcome.kind) {
      case 'open':
        return json(201, await cleanupBody(deps, { tenant, cleanup: outcome.cleanup }));
      case 'no-repo':
        return repoNotFound(tenant);
      case 'busy':
        return problem('cleanup-ending', `Garbage collection of ${repo} is still ending. Retry in a minute.`);
    }
  },

  /** What is not deleted yet stays. */
  'DELETE /v1/tenants/{tenant}/repos/{repo}/cleanup': async (deps, { tenant: { tenant }, event }) => {
    const repo = pathRepo(event);
    const cleanup = repo === undefined ? undefined : await cancelCleanup(deps, { tenant, repo });
    if (cleanup === 'busy')
      return problem('cleanup-running', `Garbage collection of ${repo} keeps changing. Retry.`);
    return cleanup ? json(200, await cleanupBody(deps, { tenant, cleanup })) : noCleanup(tenant);
  },

  /** A URL to which the file of the keep-set is sent. */
  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/keep-set': async (
    deps,
    { tenant: { tenant }, body, event },
  ) => {
    const repo = pathRepo(event);
    if (repo === undefined) return noCleanup(tenant);
    const outcome = await signKeepSet(deps, {
      tenant,
      repo,
      keepCount: body.objects,
      keepSha256: body.sha256,
    });
    if (outcome.kind !== 'signed') return notReady(tenant, outcome);
    return json(200, { url: outcome.put.href, headers: outcome.put.header });
  },

  'POST /v1/tenants/{tenant}/repos/{repo}/cleanup/run': async (deps, { tenant: { tenant }, body, event }) => {
    const repo = pathRepo(event);
    if (repo === undefined) return noCleanup(tenant);
    const { keepSet, dryRun = true, force = false, minAgeDays = minAgeDaysDefault } = body;
    const outcome = await startRun(deps, {
      tenant,
      repo,
      keepCount: keepSet.objects,
      keepSha256: keepSet.sha256,
      isDryRun: dryRun,
      isForced: force,
      minAgeMs: minAgeDays * day,
    });
    if (outcome.kind !== 'started') return notReady(tenant, outcome);
    return json(202, await cleanupBody(deps, { tenant, cleanup: outcome.cleanup }));
  },
});

function notReady(tenant: string, outcome: NotReady): Response {
  switch (outcome.kind) {
    case 'not-open':
      return noCleanup(tenant);
    case 'too-early':
      return problem(
        'cleanup-too-early',
        `It's too early: older pushes might still be in progress. Start at ${iso(outcome.fromMs)}: list the refs, scan the clone, then send the keep-set.`,
      );
    case 'running':
      return problem(
        'cleanup-running',
        'A run is in progress. Wait for it, or cancel it: lfs-quota gc cancel.',
      );
  }
}

function noCleanup(tenant: string): Response {
  return problem(
    'cleanup-not-found',
    `That repo of ${tenant} has no open garbage collection. Run first: lfs-quota gc open`,
  );
}

/** Files of candidates that are shown: those of a million objects. */
const listsMax = 100;

type BodyDeps = Pick<Deps, 'signer' | 'clock' | 'settings'>;

/** A clean-up, with new URLs for the lists of what it found. */
async function cleanupBody(
  deps: BodyDeps,
  { tenant, cleanup }: { tenant: string; cleanup: Cleanup },
): Promise<CleanupBody> {
  const { repo, state, watch, run, selection, failure, progress, endedAtMs } = cleanup;
  const fromMs = snapshotFromMs(cleanup, deps.settings);
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
      keepSetObjects: run.keepCount,
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
      lists: isUnderWay(cleanup) ? await signedLists(deps, { tenant, cleanup }) : [],
    },
    failure,
    deleted: progress.deleted,
  };
}

function reservedBody({ reserved }: Selection): Pick<NonNullable<CleanupBody['found']>, 'reserved'> {
  if (!reserved) return {};
  const { untilMs, ...sum } = reserved;
  return { reserved: { ...sum, until: iso(untilMs) } };
}

async function signedLists(
  { signer, clock, settings }: BodyDeps,
  { tenant, cleanup: { watch, selection } }: { tenant: string; cleanup: Cleanup },
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
