import * as z from 'zod';
import type { ExportPath } from '../../domain/export/export-job.ts';
import { absent } from '../../table/expressions.ts';
import {
  batchGet,
  deleteItem,
  getItem,
  newWriteId,
  putItem,
  type Table,
  untilWritten,
} from '../../table/requests.ts';
import { exportKey, exportPartition, parseExport } from './export-items.ts';

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
export async function takePlace(
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
export async function leavePlace(table: Table, { tenant, exportId }: ExportPath): Promise<void> {
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
  const keys = holders.map(({ exportId }) => exportKey({ tenant, exportId }));
  const jobs = (await batchGet(table, keys)).map(parseExport);
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
