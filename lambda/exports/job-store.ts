import * as z from 'zod';
import { absent, type Fields } from '../table/expressions.ts';
import {
  batchGet,
  changeItem,
  deleteItem,
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  newWriteId,
  ofKind,
  pagesOf,
  putItem,
  type Table,
  untilWritten,
} from '../table/requests.ts';
import { expiring, kindKey, noKind, timeText } from '../table/table.ts';
import { dueAtMs, type ExportJob, type ExportPath } from './rules/job.ts';

/** Records of exports as items. They are a few KB: what has one entry for each object lies in the store. */

const path = { tenant: z.string(), exportId: z.string() };
const way = z.enum(['stream', 'copy-free', 'copy-grid']);

const figures = z.object({
  archiveBytes: z.number(),
  throughBytes: z.number(),
  copiedBytes: z.number(),
  volumes: z.number(),
  shards: z.number(),
  gets: z.number(),
  uploads: z.number(),
  copies: z.number(),
  // Older items don't have it.
  hashedBytes: z.number().default(0),
});

const planned = z.object({
  requests: z.number(),
  dollars: z.number(),
  seconds: z.number(),
  way,
  objectCount: z.number(),
  objectBytes: z.number(),
  missing: z.number(),
  conflicts: z.number(),
  figures,
  units: z.number(),
  volumes: z.array(
    z.object({
      key: z.string(),
      uploadId: z.string(),
      sizeBytes: z.number(),
      parts: z.number(),
      directory: z
        .object({ key: z.string(), etag: z.string(), startByte: z.number(), endByte: z.number() })
        .exactOptional(),
    }),
  ),
});

const request = z
  .object({
    repo: z.string().nullable(),
    listedObjects: z.number().nullable(),
    isNamed: z.boolean().exactOptional(),
    format: z.enum(['tar', 'zip']),
    isDryRun: z.boolean(),
  })
  // Older items do not say it: any list may have names.
  .transform((asked) => ({ ...asked, isNamed: asked.isNamed ?? asked.listedObjects !== null }));

const exportItem = z.object({
  ...path,
  request,
  // Older items have none.
  by: z
    .object({ kind: z.enum(['operator', 'token', 'identity']), name: z.string().nullable() })
    .nullable()
    .default(null),
  createdAtMs: z.number(),
  endsByMs: z.number(),
  expiresAtMs: z.number(),
  state: z
    .enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired'])
    // Older versions read a zip's objects before they planned its parts.
    .transform((state) => (state === 'hashing' ? 'planning' : state)),
  endedAtMs: z.number().nullable(),
  version: z.number(),
  round: z.number(),
  leaseUntilMs: z.number(),
  failingSinceMs: z.number().nullable(),
  failing: z.object({ unit: z.number().nullable(), why: z.string(), times: z.number() }).optional(),
  failure: z
    .object({
      reason: z.enum(['object-too-large', 'too-many-objects', 'objects-vanish', 'store', 'timeout']),
      message: z.string(),
    })
    .nullable(),
  planned: planned.nullable(),
  copiesParts: z.literal(false).optional(),
  doneUnits: z.string(),
  progress: z.object({
    uploadedBytes: z.number(),
    copiedBytes: z.number(),
    hashedBytes: z.number(),
    requests: z.number(),
  }),
  movedAtMs: z.number(),
  isTidy: z.boolean(),
});

/** A record is kept so long after its archive is removed. */
const keptAfterMs = 7 * 24 * 60 * 60 * 1000;

/** The kind of exports in the index that somebody has to look at, in the order of the times by which. */
const dueKind = 'EXPORTS';

const partitionStart = 'EXPORTS#';
/** What the sort keys of records begin with. */
export const exportStart = 'EXPORT#';

/** The partition of a tenant's exports. */
export const exportPartition = (tenant: string) => `${partitionStart}${tenant}`;
const exportKey = ({ tenant, exportId }: ExportPath) => ({
  pk: exportPartition(tenant),
  sk: `${exportStart}${exportId}`,
});

/** The export that a key is of. */
function exportOfKey(key: Fields): ExportPath {
  return {
    tenant: String(key['pk']).slice(partitionStart.length),
    exportId: String(key['sk']).slice(exportStart.length),
  };
}

/** A record as an item. It is in the index as long as somebody has to look at it. */
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

/** @throws {ZodError} when the item is not that of an export. */
export function parseExport(item: unknown): ExportJob {
  return exportItem.parse(item);
}

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

const placesKey = (tenant: string) => ({ pk: exportPartition(tenant), sk: 'PLACES' });

/** Takes a place for a job, unless it has one. @throws {LedgerUnavailableError} */
async function takePlace(
  table: Table,
  { tenant, exportId }: ExportPath,
  { placesMax, nowMs }: { placesMax: number; nowMs: number },
): Promise<'taken' | 'full'> {
  return await untilWritten(table, async () => {
    const places = await readPlaces(table, tenant);
    const all = places?.holders ?? [];
    if (all.some((holder) => holder.exportId === exportId)) return { result: 'taken' };
    const holders =
      all.length < placesMax ? all : await thoseThatHold(table, tenant, { holders: all, nowMs });
    if (holders.length >= placesMax) return { result: 'full' };
    const isWritten = await writePlaces(table, tenant, {
      before: places,
      holders: [...holders, { exportId, takenAtMs: nowMs }],
    });
    return isWritten ? { result: 'taken' } : undefined;
  });
}

/** Gives a job's place to others. One that has none is no error. @throws {LedgerUnavailableError} */
async function leavePlace(table: Table, { tenant, exportId }: ExportPath): Promise<void> {
  await untilWritten(table, async () => {
    const before = await readPlaces(table, tenant);
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
  const jobs = await readSome(table, { tenant, exportIds: holders.map(({ exportId }) => exportId) });
  const endOf = new Map(jobs.map(({ exportId, expiresAtMs }) => [exportId, expiresAtMs]));
  return holders.filter(({ exportId, takenAtMs }) => {
    return (endOf.get(exportId) ?? takenAtMs + recordWithinMs) > nowMs;
  });
}

async function readPlaces(table: Table, tenant: string): Promise<Places | undefined> {
  const item = await getItem(table, placesKey(tenant));
  return item && placesItem.parse(item);
}

/** @returns false if the item is not as it was read. */
async function writePlaces(
  table: Table,
  tenant: string,
  { before, holders }: { before: Places | undefined; holders: readonly Holder[] },
): Promise<boolean> {
  const key = placesKey(tenant);
  const condition = before ? '#writeId = :before' : absent;
  const values = { ':before': before?.writeId };
  if (holders.length === 0) return (await deleteItem(table, { key, condition, values })).ok;
  const item = { ...key, holders, writeId: newWriteId() };
  return (await putItem(table, { item, condition, values })).ok;
}

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
  return methodsOn(table, { create, read, readSome, change: changeJob, leavePlace, list, listDue });
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
  await putItem(table, {
    item: { ...exportKey(job), ...exportFields(job), writeId: newWriteId() },
    condition: absent,
  });
  return 'created';
}

/** @returns undefined if there is none. @throws {LedgerUnavailableError} */
async function read(table: Table, path: ExportPath): Promise<ExportJob | undefined> {
  const item = await getItem(table, exportKey(path));
  return item && parseExport(item);
}

/** Those of a tenant's exports that are there. @throws {LedgerUnavailableError} */
async function readSome(
  table: Table,
  { tenant, exportIds }: { tenant: string; exportIds: readonly string[] },
): Promise<readonly ExportJob[]> {
  const keys = exportIds.map((exportId) => exportKey({ tenant, exportId }));
  return (await batchGet(table, keys)).map(parseExport);
}

/**
 * Changes a record as {@link changeItem} does.
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
  const { item } = await changeItem(table, exportKey(path), (found) => {
    const changed = found && change(parseExport(found));
    return changed && exportFields(changed);
  });
  return item && parseExport(item);
}

/** The jobs of a tenant. @throws {LedgerUnavailableError} */
async function list(
  table: Table,
  input: { tenant: string; pageSize: number; cursor?: string },
): Promise<ExportJobPage> {
  const { tenant, pageSize, cursor } = input;
  const items = await firstItems(table, {
    // `~` is after every character of an id.
    ...inPartition(exportPartition(tenant), { from: exportStart, to: `${exportStart}${cursor ?? '~'}` }),
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
  const pages = pagesOf(table, ofKind(dueKind, { before: timeText(nowMs + 1) }));
  for await (const keys of pages) yield keys.map(exportOfKey);
}
