import type { Deps } from '../../deps.ts';
import type { ExportJob } from '../../domain/export/export-job.ts';
import { archiveKey, madeKey, unitKey } from '../../domain/export/export-keys.ts';
import type { VolumePlan } from '../../domain/export/plan-volume.ts';
import type { StoredObject } from '../../domain/export/stored-object.ts';
import { hashUnits, plannedParts, unitsOf } from '../../domain/export/units.ts';
import {
  type CopyOrder,
  type HashOrder,
  madeBytes,
  type OrderContext,
  type OrderedVolume,
  orderedPart,
} from '../../domain/export/work-order.ts';
import { forEachLimited } from '../../rules/async.ts';
import { encodeJson } from './json-file.ts';
import type { ExportLease } from './lease.ts';

/** Orders that are in memory, and written, at a time: all workers wait for them. */
const putsAtOnce = 64;

type OrderDeps = Pick<Deps, 'archives' | 'exportSettings'>;

/** Writes down whose CRC-32 is to be found. @returns how many units that are. */
export async function writeHashOrders(
  { archives, exportSettings }: OrderDeps,
  input: { job: ExportJob; lease: ExportLease; objects: readonly StoredObject[] },
): Promise<number> {
  const { job, lease, objects } = input;
  let units = 0;
  await forEachLimited(hashUnits(objects, exportSettings), putsAtOnce, async (own) => {
    const unit = units;
    units += 1;
    const order: HashOrder = {
      objects: own.map(({ oid, key, etag, sizeBytes }) => ({ oid, key, etag, sizeBytes })),
    };
    await archives.put(unitKey(job, { ...job, state: 'hashing', unit }), encodeJson(order));
    await lease.renew();
  });
  return units;
}

interface PlannedVolumes {
  readonly job: ExportJob;
  readonly volumes: readonly VolumePlan[];
  /** That one worker needs for all parts. */
  readonly seconds: number;
  /** Asked for zips alone. */
  readonly crc32Of: (object: StoredObject) => number;
}

/**
 * Begins the uploads of all archives, and writes down which parts are to be made.
 *
 * @param input.meanwhile what is to be done, too, before the orders are written.
 * @returns how many units there are, and the archives.
 */
export async function writeCopyOrders(
  deps: OrderDeps,
  input: PlannedVolumes & { lease: ExportLease; meanwhile: Promise<unknown> | undefined },
): Promise<{ units: number; uploads: readonly OrderedVolume[] }> {
  const { job, lease, volumes, seconds, crc32Of, meanwhile } = input;
  const [uploads] = await Promise.all([beginUploads(deps, input), meanwhile]);
  const contexts = volumes.map(({ layout }): OrderContext => ({ layout, crc32Of }));
  const { pace } = deps.exportSettings;
  let units = 0;
  await forEachLimited(
    unitsOf(plannedParts(volumes, pace), { seconds, pace }),
    putsAtOnce,
    async (planned) => {
      const unit = units;
      units += 1;
      const order: CopyOrder = {
        format: job.request.format,
        modifiedAtMs: job.createdAtMs,
        volumes: uploads,
        parts: planned.flatMap((part) => {
          const context = contexts[part.volume];
          return context ? [orderedPart(part, context)] : [];
        }),
      };
      await deps.archives.put(unitKey(job, { ...job, state: 'copying', unit }), encodeJson(order));
      await lease.renew();
    },
  );
  return { units, uploads };
}

/** Begins the upload of each archive, and puts down what only this planner can make of it. */
async function beginUploads(
  { archives }: OrderDeps,
  { job, volumes, crc32Of }: PlannedVolumes,
): Promise<OrderedVolume[]> {
  const { tenant, exportId, round } = job;
  const { format, repo, isNamed } = job.request;
  const begun: OrderedVolume[] = [];
  for (const [index, { layout }] of volumes.entries()) {
    const number = { number: index + 1, of: volumes.length };
    const [made, upload] = await Promise.all([
      archives.putSource(madeKey(job, { round, volume: index }), madeBytes({ layout, crc32Of })),
      archives.createUpload(archiveKey({ tenant, exportId, repo, isNamed }, { format, round, ...number })),
    ]);
    begun.push({ ...upload, made });
  }
  return begun;
}
