import type { ArchiveFormat } from './archive-format.ts';
import type { EntrySizes } from './entry-sizes.ts';
import { type ExportSubject, indexLineBytes, manifestOf } from './manifest.ts';
import { nameLike } from './member-name.ts';
import type { StoredObject } from './stored-object.ts';

/** An offset at which every record of a directory has its longest form. */
const farByte = 2 ** 45;
/** Numbers in the manifest that are not known yet, heads and records of manifest and index, the end. */
const reservedBytes = 4096;

/** The objects of one archive, with their sizes in it. */
interface VolumeObjects {
  readonly objects: readonly StoredObject[];
  readonly sizes: EntrySizes;
}

export type VolumesSplit =
  | { readonly kind: 'split'; readonly volumes: readonly VolumeObjects[] }
  /** This object alone does not fit into an archive. */
  | { readonly kind: 'object-too-large'; readonly object: StoredObject };

/** Shares objects out to as few archives as their order allows, none larger than `volumeBytesMax`. */
export function splitVolumes(input: {
  objects: readonly StoredObject[];
  sizes: EntrySizes;
  format: ArchiveFormat;
  subject: ExportSubject;
  volumeBytesMax: number;
}): VolumesSplit {
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
