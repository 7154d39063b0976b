import { type LiteralContent, lineContent, textContent } from './literal-content.ts';
import type { StoredObject } from './stored-object.ts';

/** What the manifest says of an export, beside what the planner knows. */
export interface ExportSubject {
  /** What was exported, such as `acme` or `acme/app`. */
  readonly path: string;
  readonly startedAtMs: number;
  /**
   * Objects that are not in the archive, because they were not stored, or gone when they were to be read. `sizeBytes` is
   * null if nobody knows it.
   */
  readonly missing: readonly { readonly oid: string; readonly sizeBytes: number | null }[];
}

/** Which archive of several. */
export interface VolumeNumber {
  /** From 1. */
  readonly number: number;
  readonly of: number;
}

/** The folder of what describes an archive. git-lfs looks at nothing there. */
const folder = 'lfs/export';

/** The first file of an archive: what it has, and what is missing. The oid of an object is its SHA-256. */
export function manifestOf(input: {
  subject: ExportSubject;
  volume: VolumeNumber;
  objects: readonly StoredObject[];
}): LiteralContent {
  const { subject, volume, objects } = input;
  const manifest = {
    path: subject.path,
    startedAt: new Date(subject.startedAtMs).toISOString(),
    volume: volume.number,
    volumes: volume.of,
    objects: objects.length,
    bytes: objects.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0),
    index: indexName(volume),
    missing: subject.missing.map(({ oid, sizeBytes }) => ({ oid, sizeBytes })),
  };
  return textContent(`${folder}/manifest-${volume.number}.json`, `${JSON.stringify(manifest, null, 1)}\n`);
}

function indexName({ number }: VolumeNumber): string {
  return `${folder}/index-${number}.txt`;
}

/** As many digits as the largest size has. */
const numberDigits = 16;
/** An oid, two numbers, two spaces, a line feed. */
export const indexLineBytes = 64 + 2 * (1 + numberDigits) + 1;

/**
 * The second file of an archive: a line for each object, with its oid, its size and where its bytes begin in the
 * archive. Lines have one length and the order of the oids, so a reader of ranges finds an object in a few steps.
 *
 * @param input.dataStartOf where the bytes of the object with this index begin.
 */
export function indexOf(input: {
  volume: VolumeNumber;
  objects: readonly StoredObject[];
  dataStartOf: (objectIndex: number) => number;
}): LiteralContent {
  const { volume, objects, dataStartOf } = input;
  const padded = (value: number) => String(value).padStart(numberDigits);
  return lineContent(indexName(volume), {
    count: objects.length,
    bytesEach: indexLineBytes,
    lineAt(index) {
      const object = objects[index];
      if (!object) throw new RangeError(`The index has no line ${index}.`);
      return `${object.oid} ${padded(object.sizeBytes)} ${padded(dataStartOf(index))}\n`;
    },
  });
}
