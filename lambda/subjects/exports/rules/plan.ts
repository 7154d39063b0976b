import * as z from 'zod';
import type { ByteRange } from '../../../core/store/rules/archive-store.ts';
import type { ArchiveFormat } from './archive-formats.ts';
import {
  type EntrySizes,
  type ExportSubject,
  entrySizesOf,
  indexLineBytes,
  Layout,
  type LayoutInput,
  manifestOf,
  sizeOf,
} from './layout.ts';
import { isMemberName, nameLike, type StoredObject } from './objects.ts';
import { freeOrder, freeParts, gridOrder, gridParts, type Part, uploadPart } from './parts.ts';
import { checkSettings, type ExportSettings, type PlanSettings } from './settings.ts';

/** An offset at which every record of a directory has its longest form. */
const farByte = 2 ** 45;
/** Numbers in the manifest that are not known yet, heads and records of manifest and index, the end. */
const reservedBytes = 4096;

/** The objects of one archive, with their sizes in it. */
interface VolumeObjects {
  readonly objects: readonly StoredObject[];
  readonly sizes: EntrySizes;
}

type VolumesSplit =
  | { readonly kind: 'split'; readonly volumes: readonly VolumeObjects[] }
  /** This object alone does not fit into an archive. */
  | { readonly kind: 'object-too-large'; readonly object: StoredObject };

/** Shares objects out to as few archives as their order allows, none larger than `volumeBytesMax`. */
function splitVolumes(
  input: ExportInput & { readonly sizes: EntrySizes; readonly volumeBytesMax: number },
): VolumesSplit {
  const { objects, sizes, format, subject, volumeBytesMax } = input;
  const manifest = manifestOf({ subject, objects: [], volume: { number: 1, of: 1 } });
  const emptyBytes = manifest.sizeBytes + reservedBytes;
  const volumes: VolumeObjects[] = [];
  let first = 0;
  let volumeBytes = emptyBytes;
  for (const [index, object] of objects.entries()) {
    const bytes = (sizes.totals[index] ?? 0) + indexLineBytes + recordBytesOf(object, format);
    if (emptyBytes + bytes > volumeBytesMax) return { kind: 'object-too-large', object };
    if (volumeBytes + bytes > volumeBytesMax) {
      volumes.push(volumeOf(input, first, index));
      first = index;
      volumeBytes = emptyBytes;
    }
    volumeBytes += bytes;
  }
  volumes.push(volumeOf(input, first, objects.length));
  return { kind: 'split', volumes };
}

function volumeOf({ objects, sizes }: VolumeObjects, first: number, end: number): VolumeObjects {
  return {
    objects: objects.slice(first, end),
    sizes: {
      heads: sizes.heads.subarray(first, end),
      data: sizes.data.subarray(first, end),
      totals: sizes.totals.subarray(first, end),
    },
  };
}

/** The most that a record of the directory takes for an object. */
function recordBytesOf(object: StoredObject, format: ArchiveFormat): number {
  if (!format.hasDirectory) return 0;
  const { sizeBytes } = object;
  return format.recordBytes({ name: nameLike(object), sizeBytes, startByte: farByte });
}

/**
 * A range of the archive that becomes a temporary object by an upload of its own. That object is then copied, whole, as
 * one part of the archive.
 */
export interface ShardPart extends ByteRange {
  readonly kind: 'shard';
  /** The parts of the shard's own upload, in order. Made anew at each call. */
  parts(): Generator<Part>;
}

/** How one archive is made. */
export interface VolumePlan {
  readonly layout: Layout;
  /** Whether the archive is made from shards. */
  readonly hasShards: boolean;
  /** The parts of the archive's upload, in order: the first is number 1. Made anew at each call. */
  parts(): Generator<Part | ShardPart>;
}

type CutParts = (range: ByteRange) => Generator<Part>;

/** Chooses an order for the objects of one archive, and how to cut it into parts. */
function planVolume(input: LayoutInput, settings: PlanSettings): VolumePlan {
  const { layout, cut } = arrange(input, settings);
  const whole = { startByte: 0, endByte: layout.sizeBytes };
  const { partsMax } = settings.limits;
  const mayHaveMore = partsAtMost(layout, settings) > partsMax;
  const hasShards = settings.shards === 'always' || (mayHaveMore && hasMoreThan(cut(whole), partsMax));
  return {
    layout,
    hasShards,
    parts: () => (hasShards ? shardsOf(layout, settings, cut) : cut(whole)),
  };
}

function arrange(input: LayoutInput, settings: PlanSettings): { layout: Layout; cut: CutParts } {
  const { sizes } = input;
  const { way, cellBytes, limits } = settings;
  const { partBytesMin } = limits;
  switch (way) {
    case 'stream': {
      const layout = new Layout(input, () => Uint32Array.from(input.objects.keys()));
      return { layout, cut: (range) => streamParts(range, settings.uploadBytesMax) };
    }
    case 'copy-free': {
      const { order, copied } = freeOrder(sizes, { partBytesMin });
      const layout = new Layout(input, () => order);
      return { layout, cut: (range) => freeParts(layout, range, { ...settings, copied, partBytesMin }) };
    }
    case 'copy-grid': {
      const layout = new Layout(input, (startByte) => gridOrder(sizes, { cellBytes, startByte }));
      return { layout, cut: (range) => gridParts(layout, range, cellBytes) };
    }
  }
}

/** Cuts a range of an archive into parts of one size, the last smaller, all of them uploaded. */
function* streamParts(range: ByteRange, partBytes: number): Generator<Part> {
  for (let startByte = range.startByte; startByte < range.endByte; startByte += partBytes)
    yield uploadPart({ startByte, endByte: Math.min(startByte + partBytes, range.endByte) });
}

/** Cuts an archive every shard's size. A range inside one object is copied at once, any other becomes a shard. */
function* shardsOf(layout: Layout, settings: PlanSettings, cut: CutParts): Generator<Part | ShardPart> {
  const ranges = gridParts(layout, { startByte: 0, endByte: layout.sizeBytes }, shardBytesOf(settings));
  for (const part of ranges) {
    const { startByte, endByte } = part;
    const range = { startByte, endByte };
    if (part.kind === 'copy' && settings.way !== 'stream') yield part;
    else yield { kind: 'shard', ...range, parts: () => cut(range) };
  }
}

/** More parts an archive never has. To count them would be to cut all of it. */
function partsAtMost({ sizeBytes, objects }: Layout, settings: PlanSettings): number {
  const { way, uploadBytesMax, copyBytesMax, cellBytes } = settings;
  if (way === 'stream') return Math.ceil(sizeBytes / uploadBytesMax);
  if (way === 'copy-grid') return Math.ceil(sizeBytes / cellBytes);
  // A run before each copy and one behind the last, and each cut where it is too large.
  return 2 * objects.length + 1 + sizeBytes / uploadBytesMax + sizeBytes / copyBytesMax;
}

function hasMoreThan(parts: Generator<Part>, max: number): boolean {
  let count = 0;
  for (const _part of parts) {
    count += 1;
    if (count > max) return true;
  }
  return false;
}

export interface ExportInput {
  /** Files, then each oid once, in the order of the oids, as `distinctObjects` gives them. */
  readonly objects: readonly StoredObject[];
  readonly format: ArchiveFormat;
  readonly subject: ExportSubject;
}

type ExportPlan =
  | { readonly kind: 'planned'; readonly volumes: readonly VolumePlan[] }
  /** This object alone is larger than an archive may be in this store. */
  | { readonly kind: 'object-too-large'; readonly object: StoredObject };

/**
 * Plans the archives of an export: one, or several volumes if all do not fit into one object of the store. The same
 * input gives the same plan, so what was done of it before a restart stays done.
 *
 * @throws {RangeError} for settings that the store refuses, oids that repeat or are out of order, and names that no
 * file in an archive may have.
 */
export function planExport(input: ExportInput, settings: PlanSettings): ExportPlan {
  checkSettings(settings);
  checkObjects(input.objects);
  const sizes = entrySizesOf(input.objects, input.format);
  const split = splitVolumes({ ...input, sizes, volumeBytesMax: volumeBytesMaxOf(settings) });
  if (split.kind !== 'split') return split;
  const { volumes } = split;
  return {
    kind: 'planned',
    volumes: volumes.map(({ objects, sizes }, index) => {
      const volume = { number: index + 1, of: volumes.length };
      return planVolume({ ...input, objects, sizes, volume }, settings);
    }),
  };
}

function checkObjects(objects: readonly StoredObject[]): void {
  const names = new Set<string>();
  let before = { oid: '', key: '' };
  for (const object of objects) {
    const { oid, key, name } = object;
    if (oid < before.oid || (oid === before.oid && (oid !== '' || key <= before.key)))
      throw new RangeError(`The objects aren't sorted by oid at ${oid || key}.`);
    before = object;
    // A file has its own name, whatever it is.
    if (name === undefined || oid === '') continue;
    if (!isMemberName(name))
      throw new RangeError(`A file in an archive can't have the name ${JSON.stringify(name)}.`);
    if (names.has(name)) throw new RangeError(`Two objects have the name ${JSON.stringify(name)}.`);
    names.add(name);
  }
}

/** What a plan asks of workers and store. */
export const planFigures = z.object({
  archiveBytes: z.number(),
  /** Bytes that workers upload. */
  throughBytes: z.number(),
  /** Bytes that the store copies from objects. */
  copiedBytes: z.number(),
  volumes: z.number(),
  shards: z.number(),
  /** GET requests: one for each object in each uploaded part. */
  gets: z.number(),
  uploads: z.number(),
  /** Copied parts, those from shards too, and copies that only tell a CRC-32. Some stores are read for that, for less. */
  copies: z.number(),
  /** Bytes of the objects of a zip whose CRC-32 wants more than the part with their head. Older items don't have it. */
  hashedBytes: z.number().default(0),
});
export type PlanFigures = z.output<typeof planFigures>;

/** What a plan takes: requests, dollars, and seconds until it is done, with all workers. */
export function pricesOf(
  figures: PlanFigures,
  settings: Pick<ExportSettings, 'prices' | 'pace' | 'tellsCrc32'>,
): { requests: number; dollars: number; seconds: number } {
  const { prices, pace } = settings;
  // Every upload is created and completed. Deletes of shards are free.
  const created = figures.volumes + figures.shards;
  const writes = figures.uploads + figures.copies + 2 * created;
  const workerSeconds = secondsOf({ ...figures, shards: created }, settings);
  const dollars =
    figures.gets * prices.read +
    writes * prices.write +
    (figures.throughBytes / 1024 ** 3) * prices.gbToStore +
    workerSeconds * prices.workerSecond;
  return { requests: figures.gets + writes, dollars, seconds: workerSeconds / pace.workers };
}

/** What one part asks of workers and store. */
export type PartFigures = Omit<PlanFigures, 'archiveBytes' | 'volumes'>;

/** Seconds that a worker needs for a part. */
export function secondsOf(
  part: PartFigures,
  { pace, tellsCrc32 }: Pick<ExportSettings, 'pace' | 'tellsCrc32'>,
): number {
  // A shard has an upload of its own, which is begun and completed.
  const requests = part.gets + part.uploads + part.copies + 2 * part.shards;
  const bytes = part.throughBytes + (tellsCrc32 ? 0 : part.hashedBytes);
  return Math.max(bytes / pace.bytesPerSecond, (requests * pace.requestSeconds) / pace.requestsAtOnce);
}

/** Adds up what the volumes of an export ask for. It walks through all parts once. */
export function figuresOf(volumes: readonly VolumePlan[]): PlanFigures {
  const all: PlanFigures = { ...none, archiveBytes: 0, volumes: volumes.length };
  for (const { layout, parts } of volumes) {
    all.archiveBytes += layout.sizeBytes;
    for (const part of parts()) add(all, partFigures(part, layout));
  }
  return all;
}

const noRequests = { shards: 0, gets: 0, uploads: 0, copies: 0 };
const none: PartFigures = { throughBytes: 0, copiedBytes: 0, hashedBytes: 0, ...noRequests };

/** What a part asks for. */
export function partFigures(part: Part | ShardPart, layout: Layout): PartFigures {
  const bytes = sizeOf(part);
  if (part.kind === 'copy') return { ...none, copies: 1, copiedBytes: bytes };
  if (part.kind === 'upload') {
    const gets = objectsIn(layout, part);
    const hashedBytes = hashedBytesOf(layout, part);
    return { ...none, uploads: 1, throughBytes: bytes, gets, copies: Math.sign(hashedBytes), hashedBytes };
  }
  const shard = { ...none, shards: 1, copies: 1 };
  for (const own of part.parts()) add(shard, partFigures(own, layout));
  return shard;
}

const figureNames = Object.keys(none) as (keyof PartFigures)[];

function add(to: { -readonly [K in keyof PartFigures]: number }, from: PartFigures): void {
  for (const name of figureNames) to[name] += from[name];
}

/** The size of the object whose head is the last one in a part, if its bytes go on behind it: its CRC-32 is wanted. */
function hashedBytesOf(layout: Layout, { startByte, endByte }: ByteRange): number {
  if (!layout.format.hasDirectory || endByte > layout.directoryStartByte) return 0;
  const { dataStart, dataEnd } = layout.boundsAt(layout.placeOf(endByte - 1));
  const isOfObject = dataStart > layout.objectsStartByte;
  return isOfObject && dataStart > startByte && dataEnd > endByte ? dataEnd - dataStart : 0;
}

function objectsIn(layout: Layout, range: ByteRange): number {
  let count = 0;
  for (const _placed of layout.dataIn(range)) count += 1;
  return count;
}

/** The size of every shard but the last: whole parts, where parts have one size. */
function shardBytesOf({ way, cellBytes, uploadBytesMax, shardBytesMax }: PlanSettings): number {
  const unit = { stream: uploadBytesMax, 'copy-free': 1, 'copy-grid': cellBytes }[way];
  return Math.floor(shardBytesMax / unit) * unit;
}

/** The largest archive: what one object may have, in as many shards as an upload has parts. Without copies there are none. */
function volumeBytesMaxOf(settings: PlanSettings): number {
  const { limits, way, uploadBytesMax } = settings;
  const partBytes = way === 'stream' ? uploadBytesMax : shardBytesOf(settings);
  return Math.min(limits.objectBytesMax, limits.partsMax * partBytes);
}
