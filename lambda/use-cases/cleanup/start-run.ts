import type { Deps } from '../../deps.ts';
import {
  type Cleanup,
  type CleanupRun,
  isUnderWay,
  snapshotFromMs,
  withRun,
} from '../../domain/cleanup/cleanup.ts';
import { keepSetKey } from '../../domain/cleanup/cleanup-keys.ts';
import { prefixBytes } from '../../domain/cleanup/prefixes.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import type { SignedRequest } from '../../store/rules/store.ts';
import { putCleanup } from './put-cleanup.ts';
import { readCleanup } from './read-cleanup.ts';

export type NotReady =
  /** Nothing is open: there is no watch, or it has ended. */
  | { readonly kind: 'not-open' }
  /** The watch is too young for a snapshot. */
  | { readonly kind: 'too-early'; readonly fromMs: number }
  /** A run is under way. */
  | { readonly kind: 'running'; readonly cleanup: Cleanup };

/** A keep-set, as its file is named and sent. */
export interface KeepSet {
  /** Objects to which some commit of the clone points. */
  readonly keepCount: number;
  readonly keepSha256: string;
}

/**
 * A URL to send a keep-set to.
 *
 * @throws {LedgerUnavailableError}
 */
export async function signKeepSet(
  deps: Pick<Deps, 'ledger' | 'clock' | 'signer' | 'settings'>,
  { keepCount, keepSha256, ...path }: RepoPath & KeepSet,
): Promise<NotReady | { readonly kind: 'signed'; readonly put: SignedRequest }> {
  const ready = await readyCleanup(deps, path);
  if (ready.kind !== 'ready') return ready;
  const { tenant } = path;
  const put = await deps.signer.signUpload({
    key: keepSetKey({ tenant, watchId: ready.cleanup.watch.id }, keepSha256),
    oid: keepSha256,
    sizeBytes: keepCount * prefixBytes,
    signedAtMs: deps.clock.nowMs(),
    lifetimeMs: deps.settings.urlLifetimeMs,
  });
  return { kind: 'signed', put };
}

/**
 * Begins a run with a keep-set that was sent. It is a dry run unless somebody asks for more. It goes on in the queue of
 * recounts. A request that is repeated finds the run that it began.
 *
 * @throws {LedgerUnavailableError} @throws when the queue did not accept it. The schedule makes up for that.
 */
export async function startRun(
  deps: Pick<Deps, 'ledger' | 'clock' | 'ids' | 'queue' | 'settings'>,
  { tenant, repo, ...wish }: RepoPath & Omit<CleanupRun, 'id' | 'requestedAtMs'>,
): Promise<NotReady | { readonly kind: 'started'; readonly cleanup: Cleanup }> {
  const ready = await readyCleanup(deps, { tenant, repo });
  if (ready.kind !== 'ready') return ready;
  const { cleanup } = ready;
  const run = { ...wish, id: deps.ids.random(16), requestedAtMs: deps.clock.nowMs() };
  const begun = await putCleanup(deps, { tenant, cleanup: withRun(cleanup, run), read: cleanup });
  if (!begun) {
    const now = await readCleanup(deps, { tenant, repo });
    return now && isUnderWay(now) ? { kind: 'running', cleanup: now } : { kind: 'not-open' };
  }
  // Without it, the schedule finds that the run is due.
  await deps.queue.request({ tenant, reason: 'delete', full: false });
  return { kind: 'started', cleanup: begun };
}

async function readyCleanup(
  deps: Pick<Deps, 'ledger' | 'clock' | 'settings'>,
  path: RepoPath,
): Promise<NotReady | { readonly kind: 'ready'; readonly cleanup: Cleanup }> {
  const cleanup = await readCleanup(deps, path);
  if (!cleanup || !isUnderWay(cleanup)) return { kind: 'not-open' };
  const fromMs = snapshotFromMs(cleanup, deps.settings);
  if (deps.clock.nowMs() < fromMs) return { kind: 'too-early', fromMs };
  return cleanup.state === 'watching' ? { kind: 'ready', cleanup } : { kind: 'running', cleanup };
}
