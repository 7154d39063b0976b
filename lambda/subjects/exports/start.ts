import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isOfFiles, type RepoRecord, type TenantRecord } from '../../core/ledger/rules/tenant.ts';
import { dayMs } from '../../core/rules/dates.ts';
import { repoPrefix } from '../../core/rules/names.ts';
import type { FilePorts } from '../../core/store/rules/file-ports.ts';
import { hasKeys } from '../../core/store/rules/store.ts';
import type { AccessPorts } from '../../frame/access/ports.ts';
import { claimRequest, requestIdOf } from '../../frame/access/request-keys.ts';
import { encodeJson } from './lease.ts';
import type { ExportPorts } from './ports.ts';
import {
  type ExportAsker,
  type ExportJob,
  type ExportPath,
  type ExportRequest,
  endedJob,
  isOpen,
  newExportId,
  newExportJob,
  olderCrc32sPath,
  requestKey as requestObjectKey,
} from './rules/job.ts';
import type { RequestedObject } from './rules/objects.ts';
import * as stores from './stores.ts';

/**
 * Asks for the next step of an export. If the queue does not take that, it is logged: the schedule looks for exports that nothing
 * moves, so it is only later.
 */
async function sendOrLog(
  { exportQueue, log }: Pick<CoreDeps, 'log'> & Pick<ExportPorts, 'exportQueue'>,
  { tenant, exportId }: ExportPath,
): Promise<void> {
  try {
    await exportQueue.send([{ tenant, exportId, step: { kind: 'advance' } }]);
  } catch (error) {
    log.error('export not advanced', { tenant, exportId, error });
  }
}

type Owner = Pick<TenantRecord, 'tenant' | 'createdAtMs'>;

/**
 * The exports of a tenant that this reader may see, the newest first: on until the page is full, so that a cursor is of
 * one of them. What is older than the tenant is not shown: it was of another with its name.
 *
 * @throws {LedgerUnavailableError}
 */
export async function listExports(
  deps: Pick<CoreDeps, 'settings'> & Pick<ExportPorts, 'exportJobs'>,
  input: { owner: Owner; sees: (job: ExportJob) => boolean; pageSize: number; cursor?: string },
): Promise<{ jobs: readonly ExportJob[]; nextCursor: string | null }> {
  const { owner, sees, pageSize } = input;
  const seen: ExportJob[] = [];
  for await (const job of allExports(deps, owner.tenant, input)) {
    if (!isOf(deps, job, owner)) break;
    if (!sees(job)) continue;
    if (seen.length === pageSize) return { jobs: seen, nextCursor: seen.at(-1)?.exportId ?? null };
    seen.push(job);
  }
  return { jobs: seen, nextCursor: null };
}

/** One export of a tenant. @returns undefined if there is none. @throws {LedgerUnavailableError} */
export async function readExport(
  deps: Pick<CoreDeps, 'settings'> & Pick<ExportPorts, 'exportJobs'>,
  input: { owner: Owner; exportId: string },
): Promise<ExportJob | undefined> {
  const { owner, exportId } = input;
  const job = await deps.exportJobs.read({ tenant: owner.tenant, exportId });
  return job && isOf(deps, job, owner) ? job : undefined;
}

/** The two times are by the clocks of two functions. */
const isOf = ({ settings }: Pick<CoreDeps, 'settings'>, { createdAtMs }: ExportJob, owner: Owner) =>
  createdAtMs >= owner.createdAtMs - settings.clockSkewMs;

/** The exports that keep a tenant from beginning another: those that are made, and those whose archives are kept. */
export async function placeHolders(
  deps: Pick<CoreDeps, 'clock'> & Pick<ExportPorts, 'exportJobs'>,
  tenant: string,
): Promise<ExportJob[]> {
  const nowMs = deps.clock.nowMs();
  const holders: ExportJob[] = [];
  for await (const job of allExports(deps, tenant)) {
    if ((isOpen(job) || job.state === 'done') && job.expiresAtMs > nowMs) holders.push(job);
  }
  return holders;
}

const readSize = 100;

/** All exports of a tenant, the newest first. @param from.cursor the last that is not wanted. */
export async function* allExports(
  { exportJobs }: Pick<ExportPorts, 'exportJobs'>,
  tenant: string,
  from: { cursor?: string } = {},
): AsyncIterable<ExportJob> {
  let cursor: string | null = from.cursor ?? null;
  do {
    const page = await exportJobs.list({ tenant, pageSize: readSize, ...(cursor !== null && { cursor }) });
    yield* page.jobs;
    cursor = page.nextCursor;
  } while (cursor !== null);
}

type CancelDeps = Pick<CoreDeps, 'clock' | 'log'> & Pick<ExportPorts, 'exportJobs' | 'exportQueue'>;

/**
 * Ends an export that is open, or removes the archive of one that is done. What lies in the store is removed by a step
 * of its own; the place is free at once. One that has ended otherwise is left as it is.
 *
 * @returns the job as it is now. undefined: there is none.
 * @throws {LedgerUnavailableError}
 */
export async function cancelExport(deps: CancelDeps, path: ExportPath): Promise<ExportJob | undefined> {
  const nowMs = deps.clock.nowMs();
  const job = await deps.exportJobs.change(path, (before) => {
    if (isOpen(before)) return endedJob(before, { state: 'cancelled', nowMs });
    return before.state === 'done' ? endedJob(before, { state: 'expired', nowMs }) : undefined;
  });
  if (!job || job.isTidy) return job;
  // A request that is repeated does this again: it may have been lost.
  await deps.exportJobs.leavePlace(path);
  await sendOrLog(deps, path);
  return job;
}

/**
 * Cancels what contains a repo, or anything of a tenant, that was deleted. Of a tenant also the archives that are done
 * go, and what older versions kept of it.
 *
 * @throws {LedgerUnavailableError} @throws when the queue did not accept a step.
 */
export async function cancelExportsOf(
  deps: CancelDeps,
  { tenant, repo }: { tenant: string; repo?: string },
): Promise<void> {
  for await (const { exportId, request, ...job } of allExports(deps, tenant)) {
    const isOfRepo = repo === undefined || request.repo === null || request.repo === repo;
    const isToGo = isOpen(job) || (repo === undefined && job.state === 'done');
    if (isOfRepo && isToGo) await cancelExport(deps, { tenant, exportId });
  }
  if (repo === undefined)
    await deps.exportQueue.send([{ ...olderCrc32sPath(tenant), step: { kind: 'forget' } }]);
}

/** Exports that a tenant may start in 24 hours, deleted ones and dry runs among them: each lists and copies. */
export const startsPerDayMax = 100;

type StartDeps = Pick<CoreDeps, 'clock' | 'ids' | 'ledger' | 'listing' | 'log'> &
  ExportPorts & {
    readonly archives: Pick<FilePorts['archives'], 'put'>;
  };

export interface ExportWish extends Omit<ExportRequest, 'listedObjects' | 'isNamed'> {
  readonly by?: ExportAsker | undefined;
  readonly tenant: string;
  /** undefined: all objects. */
  readonly objects?: readonly RequestedObject[] | undefined;
}

export type StartExportOutcome =
  | { readonly kind: 'started'; readonly job: ExportJob }
  /** All places are taken by these. */
  | { readonly kind: 'full'; readonly holders: readonly ExportJob[] }
  | { readonly kind: 'too-many'; readonly retryAfterMs: number }
  | { readonly kind: 'no-repo' }
  /** A repo of files has no oids that could be asked for. */
  | { readonly kind: 'no-oids' }
  /** It is being deleted. */
  | { readonly kind: 'tenant-closed' };

/** What came of a request that changed nothing, so that nothing is to be audited; or that an export can begin. */
type PreparedExport =
  | StartExportOutcome
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'removed' }
  | { readonly kind: 'ready'; readonly begin: () => Promise<StartExportOutcome> };

/**
 * Finds out whether an export can begin. What is refused here leaves nothing behind: who may only read can ask for
 * exports, as often as they like. With a request key it begins at most once: a request that is repeated gets the same one.
 *
 * @param input.credentialId whose key it is. undefined: the operator's.
 * @throws {StoreUnavailableError | LedgerUnavailableError}
 */
export async function prepareExport(
  deps: StartDeps & Pick<AccessPorts, 'requestKeys'>,
  input: { wish: ExportWish; credentialId?: string | undefined; requestKey?: string | undefined },
): Promise<PreparedExport> {
  const { wish, requestKey } = input;
  if (requestKey !== undefined) return prepareOnce(deps, { ...input, requestKey });
  const refusal = await refusalOf(deps, wish);
  if (refusal) return refusal;
  const exportId = newExportId({ nowMs: deps.clock.nowMs(), random: deps.ids.random(16) });
  return { kind: 'ready', begin: () => begin(deps, { wish, exportId }) };
}

async function prepareOnce(
  deps: StartDeps & Pick<AccessPorts, 'requestKeys'>,
  input: { wish: ExportWish; credentialId?: string | undefined; requestKey: string },
): Promise<PreparedExport> {
  const { wish, credentialId, requestKey } = input;
  const { tenant, repo, format, isDryRun, objects } = wish;
  // The key's record has the hash of this text. With `prefer`, a key of an older version can be retried here.
  const body = { tenant, repo, format, prefer: 'time', isDryRun, objects };
  const purpose = ['start export', tenant, ...(credentialId === undefined ? [] : [credentialId])].join('\n');
  const id = requestIdOf({ purpose, requestKey });
  const isKnown = await deps.requestKeys.isKnown({ id, nowMs: deps.clock.nowMs() });
  const refusalOfNew = isKnown ? undefined : await refusalOf(deps, wish);
  if (refusalOfNew) return refusalOfNew;
  const claim = await claimRequest(deps, { purpose, requestKey, body });
  if (claim.kind === 'key-reused') return claim;
  const { beganAtMs, seed, isDone } = claim.record;
  const exportId = newExportId({ nowMs: beganAtMs, random: seed });
  const job = await deps.exportJobs.read({ tenant, exportId });
  if (isDone) return job ? { kind: 'started', job } : { kind: 'removed' };
  // Of a key that is known, what stood in the way before may do so still.
  const refusal = isKnown && !job ? await refusalOf(deps, wish) : undefined;
  if (refusal) return refusal;
  return {
    kind: 'ready',
    begin: async () => {
      const outcome: StartExportOutcome = job
        ? { kind: 'started', job }
        : await begin(deps, { wish, exportId });
      if (outcome.kind !== 'started') return outcome;
      // An earlier attempt may have died before it put the list, or asked for the first step.
      if (job && isOpen(job)) await putList(deps, { wish, exportId });
      if (job) await sendOrLog(deps, job);
      await claim.finish();
      return outcome;
    },
  };
}

/** Why an export can't begin now. undefined: it can. */
async function refusalOf(deps: StartDeps, wish: ExportWish): Promise<StartExportOutcome | undefined> {
  const { tenant } = wish;
  const retryAfterMs = await restOfDay(deps, { tenant, nowMs: deps.clock.nowMs() });
  if (retryAfterMs > 0) return { kind: 'too-many', retryAfterMs };
  const { objects, repo } = wish;
  const record = repo === null ? undefined : await deps.ledger.readRepo({ tenant, repo });
  if (!(await hasRepo(deps, wish, record))) return { kind: 'no-repo' };
  if (objects && isOfFiles(record)) return { kind: 'no-oids' };
  const holders = await placeHolders(deps, tenant);
  return holders.length >= deps.exportSettings.perTenantMax ? { kind: 'full', holders } : undefined;
}

async function putList(
  { archives }: Pick<StartDeps, 'archives'>,
  { wish: { tenant, objects }, exportId }: { wish: ExportWish; exportId: string },
): Promise<void> {
  if (objects) await archives.put(requestObjectKey({ tenant, exportId }), encodeJson(objects));
}

/**
 * Its record is put, then its list of objects, if it has one, and then its first step is asked for. That removes the list if the
 * export has ended by then.
 */
async function begin(
  deps: StartDeps,
  input: { wish: ExportWish; exportId: string },
): Promise<StartExportOutcome> {
  const { exportJobs, exportSettings } = deps;
  const { wish, exportId } = input;
  const { tenant, by, objects, ...wished } = wish;
  const path = { tenant, exportId };
  // The time in its id is that of the first request with its key, which may have failed hours ago.
  const nowMs = deps.clock.nowMs();
  const { repo } = wish;
  const ofFiles = repo !== null && isOfFiles(await deps.ledger.readRepo({ tenant, repo }));
  const isNamed = ofFiles || objects?.some(({ name }) => name !== undefined) === true;
  const request: ExportRequest = { ...wished, listedObjects: objects?.length ?? null, isNamed };
  const job = newExportJob({ ...path, request, by, nowMs, limitMs: exportSettings.limitMs });
  const options = { placesMax: exportSettings.perTenantMax, nowMs: deps.clock.nowMs() };
  if ((await exportJobs.create(job, options)) === 'full')
    return { kind: 'full', holders: await placeHolders(deps, tenant) };
  await putList(deps, input);
  const closed = await closedMeanwhile(deps, wish);
  if (closed !== undefined) await cancelExport(deps, path);
  await sendOrLog(deps, path);
  return closed === undefined ? { kind: 'started', job } : { kind: closed };
}

/** How long the tenant must wait to start another one. Starts at the same time may all pass: places bound those. */
async function restOfDay(
  { exportJobs }: Pick<ExportPorts, 'exportJobs'>,
  { tenant, nowMs }: { tenant: string; nowMs: number },
): Promise<number> {
  const { jobs } = await exportJobs.list({ tenant, pageSize: startsPerDayMax });
  const last = jobs.length === startsPerDayMax ? jobs.at(-1) : undefined;
  return last ? Math.max(0, last.createdAtMs + dayMs - nowMs) : 0;
}

/** Whether there is anything in the repo, and it is not being deleted. */
async function hasRepo(
  { listing }: Pick<CoreDeps, 'listing'>,
  { tenant, repo }: ExportWish,
  record: RepoRecord | undefined,
): Promise<boolean> {
  if (repo === null) return true;
  if (record && record.closedAtMs !== null) return false;
  return hasKeys(listing, repoPrefix({ tenant, repo }));
}

/** A delete cancels the exports that it finds. One whose record came just after that is found here. */
async function closedMeanwhile(
  { ledger }: Pick<CoreDeps, 'ledger'>,
  { tenant, repo }: ExportWish,
): Promise<'tenant-closed' | 'no-repo' | undefined> {
  const [owner, record] = await Promise.all([
    ledger.readTenant(tenant),
    repo === null ? undefined : ledger.readRepo({ tenant, repo }),
  ]);
  if (owner?.closedAtMs !== null) return 'tenant-closed';
  return record && record.closedAtMs !== null ? 'no-repo' : undefined;
}

/** Exports of one run of the schedule. The others are still due in the next. */
const wokenMax = 100;

/**
 * Asks for a step of each export that somebody has to look at: of one whose messages were lost, of one whose time is
 * over, and of one whose archive has been kept for long enough.
 *
 * @returns how many.
 * @throws {LedgerUnavailableError}
 */
export async function wakeExports(
  deps: Pick<CoreDeps, 'clock' | 'log'> & Pick<ExportPorts, 'exportJobs' | 'exportQueue'>,
): Promise<number> {
  let woken = 0;
  // Nobody would do the steps of a stage that makes no exports.
  if (!deps.exportQueue.isOn) return woken;
  for await (const page of deps.exportJobs.listDue({ nowMs: deps.clock.nowMs() })) {
    for (const path of page) {
      if (woken >= wokenMax) return woken;
      await sendOrLog(deps, path);
      woken += 1;
    }
  }
  return woken;
}

export const exportBeat = { beat: wakeExports, stores };
