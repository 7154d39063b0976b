import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ByteRange } from '../../../../lambda/core/store/rules/archive-store.ts';
import type { StoreLimits } from '../../../../lambda/core/store/rules/store-kind.ts';
import type { Layout } from '../../../../lambda/subjects/exports/rules/layout.ts';
import { distinctObjects, type StoredObject } from '../../../../lambda/subjects/exports/rules/objects.ts';
import { segmentsIn } from '../../../../lambda/subjects/exports/rules/orders.ts';
import type { Part } from '../../../../lambda/subjects/exports/rules/parts.ts';
import type { ExportInput, VolumePlan } from '../../../../lambda/subjects/exports/rules/plan.ts';

/** Objects with their bytes, whose oids are true. */
export interface ContentStore {
  readonly objects: readonly StoredObject[];
  readonly bytesOf: (object: StoredObject) => Uint8Array;
}

/** Stores contents as objects of a repo, each once. `names` gives some of them a name. */
export function contentStore(contents: readonly Uint8Array[], names: readonly string[] = []): ContentStore {
  const byOid = new Map<string, Uint8Array>();
  const listed = contents.map((content, index): StoredObject => {
    const oid = createHash('sha256').update(content).digest('hex');
    byOid.set(oid, content);
    const object = { oid, sizeBytes: content.length, etag: `"${index}"`, key: `acme/app/${oid}` };
    const name = names[index];
    return name === undefined ? object : { ...object, name };
  });
  return {
    objects: distinctObjects(listed).objects,
    bytesOf({ oid }) {
      const bytes = byOid.get(oid);
      if (!bytes) throw new Error(`No object ${oid}.`);
      return bytes;
    },
  };
}

export const subject: ExportInput['subject'] = {
  path: 'acme/app',
  startedAtMs: Date.UTC(2026, 10, 22, 12),
  missing: [],
};

/** The bytes of a range of an archive. */
export function readRange(layout: Layout, range: ByteRange, bytesOf: ContentStore['bytesOf']): Buffer {
  const pieces = [...segmentsIn(layout, range)].map((segment) => {
    const bytes =
      segment.kind === 'object'
        ? bytesOf(segment.object).subarray(segment.range.startByte, segment.range.endByte)
        : segment.bytes(segment.crc32Of ? crc32(bytesOf(segment.crc32Of)) : 0);
    if (bytes.length !== segment.sizeBytes) throw new Error('A segment has other bytes than it says.');
    return bytes;
  });
  return Buffer.concat(pieces);
}

/** The whole archive. */
export function readArchive(layout: Layout, bytesOf: ContentStore['bytesOf']): Buffer {
  return readRange(layout, { startByte: 0, endByte: layout.sizeBytes }, bytesOf);
}

/** A multipart upload as the store sees it: it refuses what a real store would. */
function finishUpload(parts: readonly Buffer[], limits: StoreLimits): Buffer {
  const { partBytesMin, partBytesMax, partsMax, objectBytesMax, wantsEqualParts } = limits;
  if (parts.length === 0 || parts.length > partsMax) throw new Error(`${parts.length} parts.`);
  for (const [index, { length }] of parts.entries()) {
    const isLast = index === parts.length - 1;
    if (length === 0 || length > partBytesMax) throw new Error(`A part of ${length} bytes.`);
    if (!isLast && length < partBytesMin) throw new Error(`Part ${index + 1} has only ${length} bytes.`);
    const first = parts[0]?.length ?? 0;
    if (wantsEqualParts && (isLast ? length > first : length !== first))
      throw new Error(`Part ${index + 1} has ${length} bytes, the first ${first}.`);
  }
  const object = Buffer.concat(parts);
  if (object.length > objectBytesMax) throw new Error(`An object of ${object.length} bytes.`);
  return object;
}

/** Does in memory what a plan says, and refuses what the store would refuse. */
export function executePlan(
  { layout, parts }: VolumePlan,
  { bytesOf, limits }: { bytesOf: ContentStore['bytesOf']; limits: StoreLimits },
): Buffer {
  const made = (part: Part): Buffer => {
    if (part.kind === 'upload') return readRange(layout, part, bytesOf);
    const whole = bytesOf(part.object);
    if (part.source && whole.length <= limits.partBytesMin) throw new Error('A range of a small object.');
    return Buffer.from(part.source ? whole.subarray(part.source.startByte, part.source.endByte) : whole);
  };
  let at = 0;
  const bodies = [...parts()].map((part) => {
    if (part.startByte !== at) throw new Error(`A part begins at ${part.startByte} instead of ${at}.`);
    at = part.endByte;
    const body = part.kind === 'shard' ? finishUpload([...part.parts()].map(made), limits) : made(part);
    if (body.length !== part.endByte - part.startByte)
      throw new Error('A part has another size than planned.');
    return body;
  });
  return finishUpload(bodies, limits);
}
