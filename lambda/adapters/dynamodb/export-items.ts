import * as z from 'zod';
import { dueAtMs, type ExportJob, type ExportPath } from '../../domain/export/export-job.ts';
import { kindKey } from '../../ledger/items.ts';
import type { Fields } from '../../table/expressions.ts';
import { expiryAttribute } from '../../table/table.ts';

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
    z.object({ key: z.string(), uploadId: z.string(), sizeBytes: z.number(), parts: z.number() }),
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
  state: z.enum(['planning', 'hashing', 'copying', 'done', 'explained', 'failed', 'cancelled', 'expired']),
  endedAtMs: z.number().nullable(),
  version: z.number(),
  round: z.number(),
  leaseUntilMs: z.number(),
  failingSinceMs: z.number().nullable(),
  failure: z
    .object({
      reason: z.enum(['object-too-large', 'too-many-objects', 'objects-vanish', 'store', 'timeout']),
      message: z.string(),
    })
    .nullable(),
  planned: planned.nullable(),
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
export const dueKind = 'EXPORTS';

/** Times in the index have one length, so that they sort as numbers do. */
export const dueText = (dueAtMs: number) => String(Math.trunc(dueAtMs)).padStart(16, '0');

const partitionStart = 'EXPORTS#';
/** What the sort keys of records begin with. */
export const exportStart = 'EXPORT#';

/** The partition of a tenant's exports. */
export const exportPartition = (tenant: string) => `${partitionStart}${tenant}`;
export const exportKey = ({ tenant, exportId }: ExportPath) => ({
  pk: exportPartition(tenant),
  sk: `${exportStart}${exportId}`,
});

/** The export that a key is of. */
export function exportOfKey(key: Fields): ExportPath {
  return {
    tenant: String(key['pk']).slice(partitionStart.length),
    exportId: String(key['sk']).slice(exportStart.length),
  };
}

/** A record as an item. It is in the index as long as somebody has to look at it. */
export function exportFields(job: ExportJob): Fields {
  const { tenant, exportId } = job;
  const dueMs = dueAtMs(job);
  return {
    ...exportKey(job),
    ...(dueMs !== null && kindKey(dueKind, `${dueText(dueMs)}#${tenant}#${exportId}`)),
    ...job,
    // Older versions read no record without them.
    request: { ...job.request, prefer: 'time' },
    explained: null,
    [expiryAttribute]: Math.ceil((job.expiresAtMs + keptAfterMs) / 1000),
  };
}

/** @throws {ZodError} when the item is not that of an export. */
export function parseExport(item: unknown): ExportJob {
  return exportItem.parse(item);
}
