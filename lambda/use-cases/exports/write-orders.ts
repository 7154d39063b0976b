import type { ExportJob, ExportVolume } from '../../domain/export/export-job.ts';
import { archiveKey, madeKey, unitKey } from '../../domain/export/export-keys.ts';
import type { VolumePlan } from '../../domain/export/plan-volume.ts';
import type { StoredObject } from '../../domain/export/stored-object.ts';
import { hashUnits, orderedParts, secondsOf, unitsOf } from '../../domain/export/units.ts';
import {
  type CopyOrder,
  type HashOrder,
  MadeBytes,
  type OrderedPart,
  type OrderedVolume,
} from '../../domain/export/work-order.ts';
import type { Deps } from '../deps.ts';
import { forEachLimited } from '../map-limited.ts';
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
  /** Asked for zips alone. */
  readonly crc32Of: (object: StoredObject) => number;
  /** What is to be done, too, before the orders are written. */
  readonly meanwhile?: readonly unknown[];
}

/** Begins the uploads of all archives, and writes down which parts are to be made. */
export async function writeCopyOrders(
  deps: OrderDeps,
  input: PlannedVolumes & { lease: ExportLease },
): Promise<{ units: number; volumes: ExportVolume[] }> {
  const { job, lease, meanwhile = [] } = input;
  const [prepared] = await Promise.all([prepareVolumes(deps, input), ...meanwhile]);
  const { pace } = deps.exportSettings;
  let units = 0;
  const shares = unitsOf(prepared.parts(), { seconds: prepared.seconds, pace });
  await forEachLimited(shares, putsAtOnce, async (parts) => {
    const unit = units;
    units += 1;
    const order: CopyOrder = {
      format: job.request.format,
      modifiedAtMs: job.createdAtMs,
      volumes: prepared.volumes,
      parts,
    };
    await deps.archives.put(unitKey(job, { ...job, state: 'copying', unit }), encodeJson(order));
    await lease.renew();
  });
  const volumes = prepared.volumes.map(({ key, uploadId }, index) => ({
    key,
    uploadId,
    sizeBytes: input.volumes[index]?.layout.sizeBytes ?? 0,
    parts: prepared.partCounts[index] ?? 0,
  }));
  return { units, volumes };
}

interface PreparedVolumes {
  readonly volumes: readonly OrderedVolume[];
  readonly partCounts: readonly number[];
  /** That one worker needs. */
  readonly seconds: number;
  parts(): Generator<OrderedPart>;
}

async function prepareVolumes(
  { archives, exportSettings }: OrderDeps,
  input: PlannedVolumes,
): Promise<PreparedVolumes> {
  const { job, crc32Of } = input;
  const { format, repo } = job.request;
  const partsOf = (volume: number, made: MadeBytes) => {
    const plan = input.volumes[volume];
    return plan ? orderedParts(plan, { layout: plan.layout, volume, made, crc32Of }) : [];
  };
  const volumes: OrderedVolume[] = [];
  const partCounts: number[] = [];
  let seconds = 0;
  for (const index of input.volumes.keys()) {
    const made = new MadeBytes({ areKept: true });
    let parts = 0;
    for (const part of partsOf(index, made)) {
      seconds += secondsOf(part, exportSettings.pace);
      parts += 1;
    }
    partCounts.push(parts);
    const key = madeKey(job, { round: job.round, volume: index });
    const number = { number: index + 1, of: input.volumes.length };
    const path = { tenant: job.tenant, exportId: job.exportId, repo };
    const [source, upload] = await Promise.all([
      archives.putSource(key, made.bytes()),
      archives.createUpload(archiveKey(path, { format, round: job.round, ...number })),
    ]);
    volumes.push({ ...upload, made: source });
  }
  return {
    volumes,
    partCounts,
    seconds,
    *parts() {
      for (const index of input.volumes.keys()) yield* partsOf(index, new MadeBytes({ areKept: false }));
    },
  };
}
