import type { ByteRange } from './byte-range.ts';
import { freeOrder } from './free-order.ts';
import { freeParts } from './free-parts.ts';
import { gridOrder } from './grid-order.ts';
import { gridParts } from './grid-parts.ts';
import { Layout, type LayoutInput } from './layout.ts';
import { type Part, uploadPart } from './part.ts';
import { type PlanSettings, shardBytesOf } from './plan-settings.ts';

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
export function planVolume(input: LayoutInput, settings: PlanSettings): VolumePlan {
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
