import { iso } from '../../../api/contract/fields.ts';
import {
  type Cleanup,
  isTooMuch,
  isUnderWay,
  type Selection,
  snapshotFromMs,
} from '../../../domain/cleanup/cleanup.ts';
import { candidatesKey } from '../../../domain/cleanup/cleanup-keys.ts';
import type { Deps } from '../../../use-cases/deps.ts';
import { day } from './requests.ts';
import type { CleanupBody } from './schemas.ts';

/** Files of candidates that are shown: those of a million objects. */
const listsMax = 100;

type BodyDeps = Pick<Deps, 'signer' | 'clock' | 'settings'>;

/** A clean-up, with new URLs for the lists of what it found. */
export async function cleanupBody(
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
