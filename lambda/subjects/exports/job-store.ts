import * as z from 'zod';
import { absent, type Fields } from '../../core/table/expressions.ts';
import { pageOf, recordsOf } from '../../core/table/records.ts';
import {
  inPartition,
  methodsOn,
  newWriteId,
  ofKind,
  pagesOf,
  putItem,
  type Table,
  untilWritten,
} from '../../core/table/requests.ts';
import { expiring, kindKey, noKind, timeText } from '../../core/table/table.ts';
import { dueAtMs, type ExportJob, type ExportPath, exportSchema } from './rules/job.ts';

/** A record is kept so long after its archive is removed. */
const keptAfterMs = 7 * 24 * 60 * 60 * 1000;

/** The kind of exports in the index that somebody has to look at, in the order of the times by which. */
const dueKind = 'EXPORTS';

const partitionStart = 'EXPORTS#';
/** What the sort keys of records begin with. */
export const exportStart = 'EXPORT#';

/** The partition of a tenant's exports. */
export const exportPartition = (tenant: string) => `${partitionStart}${tenant}`;
/** The export that a key is of. */
function exportOfKey(key: Fields): ExportPath {
  return {
    tenant: String(key['pk']).slice(partitionStart.length),
    exportId: String(key['sk']).slice(exportStart.length),
  };
}

/** A record as an item: a few KB, as what has one entry for each object lies in the store. It is in the index as long as somebody has to look at it. */
function exportFields(job: ExportJob): Fields {
  const { tenant, exportId } = job;
  const dueMs = dueAtMs(job);
  return {
    ...(dueMs === null ? noKind : kindKey(dueKind, `${timeText(dueMs)}#${tenant}#${exportId}`)),
    ...job,
    // Older versions read no record without them.
    request: { ...job.request, prefer: 'time' },
    explained: null,
    ...expiring(job.expiresAtMs + keptAfterMs),
  };
}

const records = recordsOf<ExportPath, ExportJob>({
  keyOf: ({ tenant, exportId }) => ({ pk: exportPartition(tenant), sk: `${exportStart}${exportId}` }),
  schema: exportSchema,
  fields: exportFields,
});

/**
 * Who holds the places of a tenant: one item, so that a write takes a place or finds it taken. It tells no ends: a place
 * ends when its job's record says so.
 */
const placesItem = z.object({
  holders: z.array(z.object({ exportId: z.string(), takenAtMs: z.number() })),
  writeId: z.string(),
});

type Places = z.infer<typeof placesItem>;
type Holder = Places['holders'][number];

/** A place without a record is free again after this: whoever took it has failed before the record was put. */
const recordWithinMs = 60_000;

const places = recordsOf({
  keyOf: (tenant: string) => ({ pk: exportPartition(tenant), sk: 'PLACES' }),
  schema: placesItem,
});

/** Takes a place for a job, unless it has one. */
async function takePlace(
  table: Table,
  { tenant, exportId }: ExportPath,
  { placesMax, nowMs }: { placesMax: number; nowMs: number },
): Promise<'taken' | 'full'> {
  return await untilWritten(table, async () => {
    const before = await places.read(table, tenant);
    const all = before?.holders ?? [];
    if (all.some((holder) => holder.exportId === exportId)) return { result: 'taken' };
    const holders =
      all.length < placesMax ? all : await thoseThatHold(table, tenant, { holders: all, nowMs });
    if (holders.length >= placesMax) return { result: 'full' };
    const isWritten = await writePlaces(table, tenant, {
      before,
      holders: [...holders, { exportId, takenAtMs: nowMs }],
    });
    return isWritten ? { result: 'taken' } : undefined;
  });
}

/** Gives a job's place to others. One that has none is no error. */
async function leavePlace(table: Table, { tenant, exportId }: ExportPath): Promise<void> {
  await untilWritten(table, async () => {
    const before = await places.read(table, tenant);
    const holders = before?.holders.filter((holder) => holder.exportId !== exportId) ?? [];
    if (holders.length === (before?.holders.length ?? 0)) return { result: undefined };
    return (await writePlaces(table, tenant, { before, holders })) ? { result: undefined } : undefined;
  });
}

/** Without those whose job has ended its time, or never began. */
async function thoseThatHold(
  table: Table,
  tenant: string,
  { holders, nowMs }: { holders: readonly Holder[]; nowMs: number },
): Promise<readonly Holder[]> {
  const jobs = await records.readSome(
    table,
    holders.map(({ exportId }) => ({ tenant, exportId })),
  );
  const endOf = new Map(jobs.map(({ exportId, expiresAtMs }) => [exportId, expiresAtMs]));
  return holders.filter(({ exportId, takenAtMs }) => {
    return (endOf.get(exportId) ?? takenAtMs + recordWithinMs) > nowMs;
  });
}

/** @returns false if the item is not as it was read. */
async function writePlaces(
  table: Table,
  tenant: string,
  { before, holders }: { before: Places | undefined; holders: readonly Holder[] },
): Promise<boolean> {
  const asRead = {
    condition: before ? '#writeId = :before' : absent,
    values: { ':before': before?.writeId },
  };
  if (holders.length === 0) return places.remove(table, tenant, asRead);
  const item = { ...places.keyOf(tenant), holders, writeId: newWriteId() };
  return (await putItem(table, { item, ...asRead })).ok;
}

interface ExportJobPage {
  /** The newest first. */
  readonly jobs: readonly ExportJob[];
  /** The `exportId` of the last job, if more follow. */
  readonly nextCursor: string | null;
}

/**
 * The records of exports. Ids sort by the time at which their jobs were created. On the ledger's table, in a partition of
 * their own for each tenant. The table's TTL removes a record some days after its archive. All throw
 * {@link LedgerUnavailableError}.
 */
export function createDynamoDbExportJobs(table: Table) {
  return methodsOn(table, {
    create,
    read: records.read,
    readSome,
    change: changeJob,
    leavePlace,
    list,
    listDue,
  });
}

export type ExportJobs = ReturnType<typeof createDynamoDbExportJobs>;

/**
 * Puts the record of a job, if its tenant has a place for another archive. A job keeps its place until `expiresAtMs`,
 * or until {@link leavePlace}. Two calls at the same time never take the same place.
 *
 * @returns `full` when all places are taken; then nothing was put.
 */
async function create(
  table: Table,
  job: ExportJob,
  options: { placesMax: number; nowMs: number },
): Promise<'created' | 'full'> {
  // A repetition finds the record, or the place that it took.
  if (await records.read(table, job)) return 'created';
  if ((await takePlace(table, job, options)) === 'full') return 'full';
  await records.create(table, job);
  return 'created';
}

/** Those of a tenant's exports that are there. */
const readSome = (table: Table, { tenant, exportIds }: { tenant: string; exportIds: readonly string[] }) =>
  records.readSome(
    table,
    exportIds.map((exportId) => ({ tenant, exportId })),
  );

/** Changes a record that is there. @returns it as it is now. undefined: there is none. */
async function changeJob(
  table: Table,
  path: ExportPath,
  change: (job: ExportJob) => ExportJob | undefined,
): Promise<ExportJob | undefined> {
  return (await records.change(table, path, (job) => job && change(job))).record;
}

/** The jobs of a tenant. */
async function list(
  table: Table,
  input: { tenant: string; pageSize: number; cursor?: string },
): Promise<ExportJobPage> {
  const { tenant, pageSize, cursor } = input;
  const found = await records.first(table, {
    // `~` is after every character of an id.
    ...inPartition(exportPartition(tenant), { from: exportStart, to: `${exportStart}${cursor ?? '~'}` }),
    ScanIndexForward: false,
    // The cursor's own, which BETWEEN includes, and one more to know whether another follows.
    Limit: pageSize + 2,
  });
  const after = found.filter(({ exportId }) => exportId !== cursor);
  const { page, last } = pageOf(after, pageSize);
  return { jobs: page, nextCursor: last?.exportId ?? null };
}

/**
 * Jobs of all tenants that somebody has to look at by this time (`dueAtMs` of the job). Eventually consistent: one that
 * has just changed may be among them, or missing.
 */
async function* listDue(table: Table, { nowMs }: { nowMs: number }): AsyncIterable<readonly ExportPath[]> {
  const pages = pagesOf(table, ofKind(dueKind, { before: timeText(nowMs + 1) }));
  for await (const keys of pages) yield keys.map(exportOfKey);
}
