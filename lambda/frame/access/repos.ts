import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { requestOrLog } from '../../core/ledger/reconcile-requests.ts';
import { isReserved } from '../../core/ledger/reservations.ts';
import {
  isOfFiles,
  isThere,
  type RepoPath,
  type RepoRecord,
  repoLimitsMax,
  reposMax,
  type TenantRecord,
  unknownRepo,
} from '../../core/ledger/rules/tenant.ts';
import { LedgerUnavailableError } from '../../core/rules/errors.ts';
import { repoPrefix } from '../../core/rules/names.ts';
import { hasKeys } from '../../core/store/rules/store.ts';
import type { RepoMarks } from './repo-mark-store.ts';
import { wrongKind } from './rules/kinds.ts';
import { isInForce, type RepoMark } from './rules/repo-mark.ts';

/**
 * A repo that is there, has a limit, is being deleted, or has objects that no count has found yet. undefined: there is none.
 *
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function findRepo(
  deps: Pick<CoreDeps, 'ledger' | 'listing'>,
  { tenant, repo }: { tenant: TenantRecord; repo: string },
): Promise<RepoRecord | undefined> {
  const record = await deps.ledger.readRepo({ tenant: tenant.tenant, repo });
  return (await isFound(deps, { tenant, repo, record })) ? (record ?? unknownRepo(repo)) : undefined;
}

/**
 * Whether {@link findRepo} finds a repo. The store is asked only if the ledger does not tell.
 *
 * @param input.record as it was read just now. undefined: the ledger does not know it.
 * @throws {StoreUnavailableError}
 */
async function isFound(
  { listing }: Pick<CoreDeps, 'listing'>,
  input: { tenant: TenantRecord; repo: string; record: RepoRecord | undefined },
): Promise<boolean> {
  const { tenant, repo, record } = input;
  if (record && (record.closedAtMs !== null || isThere(record) || tenant.repoLimits.has(repo))) return true;
  return hasKeys(listing, repoPrefix({ tenant: tenant.tenant, repo }));
}

/**
 * Changes the settings of a tenant, over those that were read for this request. If somebody has changed them in between,
 * tries again over what they are now, as long as somebody waits for the answer: a function that was frozen undoes no
 * later change.
 *
 * @param input.beganMs when the request came, before the tenant was read.
 * @param attempt changes them over `tenant`. `tried` is the tenant over which the attempt before was made, undefined: this
 * is the first. If nothing is left to be changed then, it was most likely that attempt, whose answer was lost: whoever
 * changed it, what follows a change is still to be done.
 * @throws {LedgerUnavailableError} Nothing was changed.
 */
export async function overSettings<T extends { readonly kind: string }>(
  { clock, settings }: Pick<CoreDeps, 'clock' | 'settings'>,
  { tenant, beganMs }: { tenant: TenantRecord; beganMs: number },
  attempt: (
    tenant: TenantRecord,
    tried: TenantRecord | undefined,
  ) => Promise<T | { readonly kind: 'superseded'; readonly tenant: TenantRecord }>,
): Promise<Exclude<T, { kind: 'superseded' }>> {
  let read = tenant;
  let tried: TenantRecord | undefined;
  for (;;) {
    const outcome = await attempt(read, tried);
    if (!isSuperseded(outcome)) return outcome as Exclude<T, { kind: 'superseded' }>;
    if (clock.nowMs() >= beganMs + settings.batchTimeLimitMs)
      throw new LedgerUnavailableError(`The settings of ${tenant.tenant} changed at the same time. Retry.`);
    tried = read;
    read = outcome.tenant;
  }
}

function isSuperseded(outcome: {
  readonly kind: string;
}): outcome is { readonly kind: 'superseded'; readonly tenant: TenantRecord } {
  return outcome.kind === 'superseded';
}

type LimitRepoOutcome =
  /** `before` is what it was limited over. */
  | { readonly kind: 'limited'; readonly before: TenantRecord; readonly tenant: TenantRecord }
  /** As many repos as there may be have a limit. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'absent' };

/**
 * Sets the limit of one repo, or with null lifts it. Until a reconcile has found what the repo takes up, a batch that
 * uploads to it finds out itself.
 *
 * @param input.tenant as read for this request. @param input.beganMs when that came, before the tenant was read.
 * @throws {LedgerUnavailableError}
 */
export async function limitRepo(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'log' | 'clock' | 'settings'>,
  input: { tenant: TenantRecord; beganMs: number; repo: string; limitBytes: number | null },
): Promise<LimitRepoOutcome> {
  const { repo, limitBytes } = input;
  return overSettings(deps, input, async (before, tried) => {
    const { tenant, repoLimits, settingsVersion } = before;
    const presentBytes = repoLimits.get(repo)?.limitBytes ?? null;
    const requestReconcile = () => requestOrLog(deps, { tenant, reason: 'manual', full: false });
    if (presentBytes === limitBytes) {
      // To set it once more would end a reconcile that is running, for nothing.
      if (tried) await requestReconcile();
      return { kind: 'limited', before: tried ?? before, tenant: before };
    }
    if (presentBytes === null && repoLimits.size >= repoLimitsMax) return { kind: 'too-many' };
    const outcome = await deps.ledger.setRepoLimit({ tenant, settingsVersion, repo, limitBytes });
    if (outcome.kind !== 'changed') return outcome;
    await requestReconcile();
    return { kind: 'limited', before, tenant: outcome.tenant };
  });
}

type CreateRepoOutcome =
  | { readonly kind: 'created'; readonly tenant: TenantRecord; readonly record: RepoRecord }
  | { readonly kind: 'exists' }
  /** There was one of the other kind lately: its uploads may still be in progress. */
  | { readonly kind: 'other-kind' }
  /** A repo of that name is being deleted. */
  | { readonly kind: 'closed' }
  /** The tenant has as many repos as it may have. */
  | { readonly kind: 'full' }
  /** As many repos as there may be have a limit. */
  | { readonly kind: 'too-many' }
  | { readonly kind: 'absent' };

/**
 * Creates a repo with nothing in it, so that it takes pushes though its tenant does not let a push create one. If
 * somebody pushes to it first, that is as good. Of files, it may be one that only a scan found: it has what is stored there.
 *
 * @param input.limitBytes undefined: its limit stays as it is, usually none.
 * @throws {LedgerUnavailableError}
 */
export async function createRepo(
  deps: Pick<CoreDeps, 'ledger' | 'queue' | 'clock' | 'log' | 'settings'>,
  input: {
    tenant: TenantRecord;
    beganMs: number;
    repo: string;
    limitBytes?: number | null | undefined;
    /** undefined: for Git LFS. */
    kind?: RepoRecord['kind'];
  },
): Promise<CreateRepoOutcome> {
  const { beganMs, repo, limitBytes, kind } = input;
  const path = { tenant: input.tenant.tenant, repo };
  const found = await deps.ledger.readRepo(path);
  if (found && found.closedAtMs !== null) return { kind: 'closed' };
  // This was asked for before, by a function that died in between.
  const goesOn = kind !== undefined && found?.kind === kind && found.isUnproven === true;
  if (found && isThere(found) && !goesOn && (!kind || found.createdAtMs !== undefined))
    return { kind: 'exists' };
  if (!found && input.tenant.repoCount >= reposMax) return { kind: 'full' };
  // What was pushed a moment ago may have no item yet. Its URLs would replace files.
  if (kind && !goesOn && (await isReserved(deps.ledger, path))) return { kind: 'exists' };
  let { tenant } = input;
  if (limitBytes !== undefined) {
    // Before it takes pushes.
    const limited = await limitRepo(deps, { tenant, beganMs, repo, limitBytes });
    if (limited.kind !== 'limited') return limited;
    tenant = limited.tenant;
  }
  const createdAtMs = deps.clock.nowMs();
  const outcome = await deps.ledger.createRepo({
    ...path,
    createdAtMs,
    kind,
    ...(kind && { isUnproven: true }),
  });
  if (outcome === 'other-kind' && found && isThere(found)) return { kind: 'exists' };
  if (outcome !== 'done') return { kind: outcome };
  const record = kind ? await proveKind(deps, path) : await deps.ledger.readRepo(path);
  if (kind && !record) return { kind: 'exists' };
  if (!record)
    throw new Error(`The repo ${path.tenant}/${repo} vanished. An item of a created repo is never removed.`);
  return { kind: 'created', tenant, record };
}

/**
 * Finds out whether a repo that was made one of files can be that: nothing else may use it before. May be repeated, at once, and by others.
 *
 * @returns it as it is then. undefined: a push of before may have a URL of Git LFS, so it isn't of files.
 * @throws {LedgerUnavailableError}
 */
export async function proveKind(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  path: RepoPath,
): Promise<RepoRecord | undefined> {
  // A push that began before reads the repo once it has reserved, or has done both. A reconcile that has settled it since says so.
  const isPushed = await isReserved(ledger, path);
  const record = await ledger.readRepo(path);
  const { createdAtMs } = record ?? {};
  if (!record?.isUnproven || createdAtMs === undefined) return isOfFiles(record) ? record : undefined;
  const hasUrls = isPushed || record.putsUntilMs > 0;
  const isDecided = await ledger[hasUrls ? 'dropKind' : 'confirmKind']({ ...path, createdAtMs });
  if (isDecided && hasUrls) return undefined;
  const now = isDecided ? record : await ledger.readRepo(path);
  return isOfFiles(now) ? now : undefined;
}

/** What a change of a mark comes to, before anything is written. */
export type PreparedMark<M> =
  | {
      readonly kind: 'ready';
      /** undefined: it had none. */
      readonly before: M | undefined;
      readonly after: M | undefined;
      /** @throws {LedgerUnavailableError} */
      readonly write: () => Promise<void>;
    }
  /** There is no such repo: a name that was mistyped gets no mark. */
  | { readonly kind: 'no-repo' }
  /** It is being deleted. */
  | { readonly kind: 'repo-closed' }
  /** It's of files. */
  | { readonly kind: 'wrong-kind'; readonly detail: string }
  /** As many repos of the tenant have such a mark as may. */
  | { readonly kind: 'full' };

/**
 * Decides something of a repo, such as that it is public, or ends that. Nothing is written yet: what is changed together with it
 * may be refused.
 *
 * @param marks of this kind, and how many a tenant may have.
 * @param input.to null: nothing is decided of it from now on.
 * @throws {LedgerUnavailableError | StoreUnavailableError}
 */
export async function prepareMark<M extends RepoMark>(
  deps: Pick<CoreDeps, 'ledger' | 'listing' | 'clock'>,
  { marks, marksMax }: { marks: RepoMarks<M>; marksMax: number },
  { tenant, repo, to }: { tenant: TenantRecord; repo: string; to: Omit<M, keyof RepoMark> | null },
): Promise<PreparedMark<M>> {
  const { ledger, clock } = deps;
  const path = { tenant: tenant.tenant, repo };
  // Before it is read whether the repo is open: a delete that closes it from now on ends this too, if it lands after it.
  const sinceMs = clock.nowMs();
  const [record, found] = await Promise.all([ledger.readRepo(path), marks.find(path)]);
  const before = found && isInForce(found, record) ? found : undefined;
  if (to === null) {
    const write = async () => {
      if (found) await marks.end({ ...path, atMs: sinceMs });
    };
    return record || found ? { kind: 'ready', before, after: undefined, write } : { kind: 'no-repo' };
  }
  if (record && record.closedAtMs !== null) return { kind: 'repo-closed' };
  const detail = wrongKind(record, { ...path, needed: 'lfs' });
  if (detail !== undefined) return { kind: 'wrong-kind', detail };
  if (!before && !(await isFound(deps, { tenant, repo, record }))) return { kind: 'no-repo' };
  if (!before && (await marks.list(tenant.tenant)).length >= marksMax) return { kind: 'full' };
  // Newer than what was decided before, also if nothing else changes: what was found out since then is found out anew.
  const mark = { ...to, repo, sinceMs: Math.max(sinceMs, (found?.sinceMs ?? 0) + 1) } as unknown as M;
  return { kind: 'ready', before, after: mark, write: () => marks.put({ tenant: tenant.tenant, mark }) };
}
