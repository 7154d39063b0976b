import type { ExportJob, ExportPath } from '../../domain/export/export-job.ts';
import { absent } from '../../table/expressions.ts';
import {
  firstItems,
  getItem,
  methodsOn,
  newWriteId,
  pagesOf,
  putItem,
  type Table,
  untilWritten,
} from '../../table/requests.ts';
import { byKindIndex, keyNames } from '../../table/table.ts';
import {
  dueKind,
  dueText,
  exportFields,
  exportKey,
  exportOfKey,
  exportPartition,
  exportStart,
  parseExport,
} from './export-items.ts';
import { leavePlace, takePlace } from './export-places.ts';

interface ExportJobPage {
  /** The newest first. */
  readonly jobs: readonly ExportJob[];
  /** The `exportId` of the last job, if more follow. */
  readonly nextCursor: string | null;
}

/**
 * The records of exports. Ids sort by the time at which their jobs were created. On the ledger's table, in a partition of
 * their own for each tenant. The table's TTL removes a record some days after its archive.
 */
export function createDynamoDbExportJobs(table: Table) {
  return methodsOn(table, { create, read, change: changeJob, leavePlace, list, listDue });
}

export type ExportJobs = ReturnType<typeof createDynamoDbExportJobs>;

/**
 * Puts the record of a job, if its tenant has a place for another archive. A job keeps its place until `expiresAtMs`,
 * or until {@link leavePlace}. Two calls at the same time never take the same place.
 *
 * @returns `full` when all places are taken; then nothing was put.
 * @throws {LedgerUnavailableError}
 */
async function create(
  table: Table,
  job: ExportJob,
  options: { placesMax: number; nowMs: number },
): Promise<'created' | 'full'> {
  // A repetition finds the record, or the place that it took.
  if (await read(table, job)) return 'created';
  if ((await takePlace(table, job, options)) === 'full') return 'full';
  await putItem(table, { item: { ...exportFields(job), writeId: newWriteId() }, condition: absent });
  return 'created';
}

/** @returns undefined if there is none. @throws {LedgerUnavailableError} */
async function read(table: Table, path: ExportPath): Promise<ExportJob | undefined> {
  const item = await getItem(table, exportKey(path));
  return item && parseExport(item);
}

/**
 * Changes a record by a function of it, as if nobody else changed it meanwhile: it is read and asked again if somebody
 * did. The version is counted here.
 *
 * @param change answers undefined to leave the record as it is.
 * @returns the record as it is now. undefined: there is none.
 * @throws {LedgerUnavailableError}
 */
async function changeJob(
  table: Table,
  path: ExportPath,
  change: (job: ExportJob) => ExportJob | undefined,
): Promise<ExportJob | undefined> {
  const writeId = newWriteId();
  return await untilWritten(table, async () => {
    const item = await getItem(table, exportKey(path));
    if (item === undefined) return { result: undefined };
    const job = parseExport(item);
    // The answer to an earlier attempt was lost. Its change must not be made twice.
    if (item['writeId'] === writeId) return { result: job };
    const changed = change(job);
    if (changed === undefined) return { result: job };
    const next = { ...changed, version: job.version + 1 };
    const { ok } = await putItem(table, {
      item: { ...exportFields(next), writeId },
      condition: '#version = :before',
      values: { ':before': job.version },
    });
    return ok ? { result: next } : undefined;
  });
}

/** The jobs of a tenant. @throws {LedgerUnavailableError} */
async function list(
  table: Table,
  input: { tenant: string; pageSize: number; cursor?: string },
): Promise<ExportJobPage> {
  const { tenant, pageSize, cursor } = input;
  const items = await firstItems(table, {
    KeyConditionExpression: '#pk = :pk AND #sk BETWEEN :from AND :to',
    ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk },
    ExpressionAttributeValues: {
      ':pk': exportPartition(tenant),
      ':from': exportStart,
      // `~` is after every character of an id.
      ':to': `${exportStart}${cursor ?? '~'}`,
    },
    ConsistentRead: true,
    ScanIndexForward: false,
    // The cursor's own, which BETWEEN includes, and one more to know whether another follows.
    Limit: pageSize + 2,
  });
  const after = items.map(parseExport).filter(({ exportId }) => exportId !== cursor);
  const jobs = after.slice(0, pageSize);
  return { jobs, nextCursor: after.length > pageSize ? (jobs.at(-1)?.exportId ?? null) : null };
}

/**
 * Jobs of all tenants that somebody has to look at by this time (`dueAtMs` of the job). Eventually consistent: one that
 * has just changed may be among them, or missing.
 *
 * @throws {LedgerUnavailableError}
 */
async function* listDue(table: Table, { nowMs }: { nowMs: number }): AsyncIterable<readonly ExportPath[]> {
  const pages = pagesOf(table, {
    IndexName: byKindIndex.name,
    KeyConditionExpression: '#kind = :kind AND #name < :after',
    ExpressionAttributeNames: { '#kind': byKindIndex.pk, '#name': byKindIndex.sk },
    ExpressionAttributeValues: { ':kind': dueKind, ':after': dueText(nowMs + 1) },
  });
  for await (const keys of pages) yield keys.map(exportOfKey);
}
