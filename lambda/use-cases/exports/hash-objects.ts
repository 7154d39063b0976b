import type { Deps } from '../../deps.ts';
import { crc32After } from '../../domain/export/crc32.ts';
import type { ExportPath } from '../../domain/export/export-job.ts';
import { scratchKey } from '../../domain/export/export-keys.ts';
import type { HashOrder } from '../../domain/export/work-order.ts';
import type { MultipartUpload } from '../../ports/archive-store.ts';
import { forEachLimited } from '../../rules/async.ts';

const objectsAtOnce = 32;
const readsAtOnce = 8;
/** A smaller object is read sooner than it is copied, and for less. */
const copyFromBytes = 1024 ** 2;
/** Stores copy no more in one request. */
const copyBytesMax = 5 * 1024 ** 3;
const pieceBytes = 4 * 1024 ** 2;
/** Parts that an upload can have. */
const partsMax = 10_000;

type HashedObject = HashOrder['objects'][number];

/**
 * Finds the CRC-32 of objects. Where the store tells it, it is that of a copy into an upload that is aborted afterwards,
 * so that no byte passes this process.
 *
 * @returns by oid. undefined if the time was over before.
 * @throws {SourceGoneError} @throws {StoreUnavailableError}
 */
export async function hashObjects(
  { archives, exportSettings }: Pick<Deps, 'archives' | 'exportSettings'>,
  input: {
    path: ExportPath;
    round: number;
    unit: number;
    objects: readonly HashedObject[];
    onObject: (work: { hashedBytes: number; requests: number }) => Promise<void>;
    isOver: () => boolean;
  },
): Promise<Map<string, number> | undefined> {
  const { path, objects, onObject, isOver } = input;
  const found = new Map<string, number>();
  const isCopied = ({ sizeBytes }: HashedObject) =>
    exportSettings.tellsCrc32 && sizeBytes >= copyFromBytes && sizeBytes <= copyBytesMax;
  const copied = objects.filter(isCopied).slice(0, partsMax);
  const key = scratchKey(path, input);
  // One that a killed worker left behind is aborted with all others: another may be at the same unit now.
  const scratch = copied.length === 0 ? undefined : await archives.createUpload(key, { withCrc32: true });
  try {
    const areCopied = new Set(copied);
    const small = objects.filter((object) => !areCopied.has(object));
    const note = async (object: HashedObject, crc32: number, requests: number) => {
      found.set(object.oid, crc32);
      await onObject({ hashedBytes: object.sizeBytes, requests });
    };
    await forEachLimited(copied.entries(), objectsAtOnce, async ([index, object]) => {
      if (isOver() || !scratch) return;
      const told = await crc32OfCopy(archives, scratch, { number: index + 1, object });
      if (told !== undefined) return note(object, told, 1);
      const { crc32, requests } = await crc32OfBytes(archives, object);
      await note(object, crc32, 1 + requests);
    });
    await forEachLimited(small, readsAtOnce, async (object) => {
      if (isOver()) return;
      const { crc32, requests } = await crc32OfBytes(archives, object);
      await note(object, crc32, requests);
    });
  } finally {
    if (scratch) await archives.abort(scratch);
  }
  return found.size === objects.length ? found : undefined;
}

async function crc32OfCopy(
  archives: Deps['archives'],
  upload: MultipartUpload,
  { number, object }: { number: number; object: HashedObject },
): Promise<number | undefined> {
  const { sizeBytes } = object;
  const { crc32 } = await archives.copyPart(upload, { number, source: object, sizeBytes });
  return crc32;
}

/** Reads an object, piece by piece. @returns also how many requests that took. */
async function crc32OfBytes(
  archives: Deps['archives'],
  object: HashedObject,
): Promise<{ crc32: number; requests: number }> {
  let crc32 = 0;
  let requests = 0;
  const piece = new Uint8Array(Math.min(pieceBytes, object.sizeBytes));
  for (let startByte = 0; startByte < object.sizeBytes; startByte += pieceBytes) {
    const endByte = Math.min(object.sizeBytes, startByte + pieceBytes);
    const into = piece.subarray(0, endByte - startByte);
    await archives.readInto(object, { startByte, endByte }, into);
    crc32 = crc32After(crc32, into);
    requests += 1;
  }
  return { crc32, requests };
}
