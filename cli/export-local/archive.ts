import { existsSync } from 'node:fs';
import { type FileHandle, open, statfs } from 'node:fs/promises';
import path from 'node:path';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { formatFor } from '../../lambda/domain/export/formats.ts';
import type { Layout } from '../../lambda/domain/export/layout.ts';
import { planExport } from '../../lambda/domain/export/plan-export.ts';
import { type PlanSettings, quickestSettings } from '../../lambda/domain/export/plan-settings.ts';
import { segmentsIn } from '../../lambda/domain/export/segments.ts';
import { s3Limits } from '../../lambda/domain/export/store-limits.ts';
import { errorCode } from '../../local/system/durable-file.ts';
import { CliError } from '../errors.ts';
import type { ExportState } from './workspace.ts';

/** An archive on the disk: what lies where, and how it gets there. */

/** Bytes that are copied, or put together, at a time. */
const pieceBytes = 1024 ** 2;

/** A disk takes an archive of any size, so there is one alone. Its bytes are those of a worker that streams all. */
const settings: PlanSettings = {
  ...quickestSettings({
    ...s3Limits,
    partsMax: Number.MAX_SAFE_INTEGER,
    objectBytesMax: Number.MAX_SAFE_INTEGER,
  }),
  way: 'stream',
};

/** Where everything lies in the archive. It is a function of the state alone. */
export function layoutOf({ objects, wish, createdAtMs, missing }: ExportState): Layout {
  const { tenant, repo } = wish;
  const format = formatFor('tar', { modifiedAtMs: createdAtMs });
  const subject = {
    path: repo === null ? tenant : `${tenant}/${repo}`,
    startedAtMs: createdAtMs,
    missing,
  };
  const plan = planExport({ objects, format, subject }, settings);
  const [volume, ...others] = plan.kind === 'planned' ? plan.volumes : [];
  if (!volume || others.length > 0) throw new Error('A local export has one archive.');
  return volume.layout;
}

/** Where the bytes of an object begin, by its index in the list: in this plan it has the order of the list. */
export function startByteOf(layout: Layout, index: number): number {
  return layout.boundsAt(2 + index).dataStart;
}

/** Opens an archive that is being made, as long as it will be. @returns whether it was that long before. */
export async function openArchive(name: string, sizeBytes: number) {
  const file = await open(name, existsSync(name) ? 'r+' : 'w+');
  const hadSize = (await file.stat()).size === sizeBytes;
  if (!hadSize) await file.truncate(sizeBytes);
  return { file, hadSize };
}

/** Writes all of the bytes. @throws {ArchiveWriteError} */
export async function writeAt(file: FileHandle, bytes: Uint8Array, startByte: number): Promise<void> {
  try {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await file.write(bytes, done, bytes.length - done, startByte + done);
      done += bytesWritten;
    }
  } catch (cause) {
    throw new ArchiveWriteError(cause);
  }
}

/** Writes everything of an archive that is not the bytes of an object: manifest, index, heads, padding, end. */
export async function writeLiterals(file: FileHandle, layout: Layout): Promise<void> {
  let at = 0;
  let waiting: Uint8Array[] = [];
  let waitingBytes = 0;
  const write = async () => {
    await writeAt(file, Buffer.concat(waiting), at - waitingBytes);
    waiting = [];
    waitingBytes = 0;
  };
  for (const segment of segmentsIn(layout, { startByte: 0, endByte: layout.sizeBytes })) {
    if (segment.kind === 'object' || waitingBytes >= pieceBytes) await write();
    if (segment.kind === 'literal') {
      waiting.push(segment.bytes(0));
      waitingBytes += segment.sizeBytes;
    }
    at += segment.sizeBytes;
  }
  await write();
}

interface Place {
  readonly file: FileHandle;
  readonly startByte: number;
}

/** Copies bytes from one file to another. @throws {Error} if the first one is too short. */
export async function copyBytes(from: Place, to: Place, sizeBytes: number): Promise<void> {
  const piece = Buffer.allocUnsafe(Math.min(pieceBytes, sizeBytes));
  for (let done = 0; done < sizeBytes; ) {
    const wanted = Math.min(piece.length, sizeBytes - done);
    const { bytesRead } = await from.file.read(piece, 0, wanted, from.startByte + done);
    if (bytesRead === 0) throw new Error('The archive that is being made has become shorter.');
    await writeAt(to.file, piece.subarray(0, bytesRead), to.startByte + done);
    done += bytesRead;
  }
}

/** @throws {CliError} when a disk has not the room for so many bytes more. */
export async function checkRoom(file: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path.dirname(file));
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes) return;
  throw new CliError(
    `${file} needs ${formatBytes(bytes)} more, and its disk has ${formatBytes(freeBytes)} free.`,
    { hint: 'Free some space, or name a file on another disk.' },
  );
}

/** The disk did not take what arrived. */
export class ArchiveWriteError extends Error {
  override readonly name = 'ArchiveWriteError';

  constructor(cause: unknown) {
    super('What arrived could not be written.', { cause });
  }
}

const elsewhere = 'The folder may not be written. Name a file in another one.';
const noFolder = 'Its folder does not exist. Make it, or name another file.';
const whatToDo: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space, and call it again: it goes on.',
  EDQUOT: 'That is beyond the quota of this user. Free some space, and call it again: it goes on.',
  EFBIG: 'The file system takes no file of that size. Name a file on another one.',
  EACCES: elsewhere,
  EPERM: elsewhere,
  EROFS: elsewhere,
  EISDIR: 'A folder has the name of a file beside it. Name another file.',
  ENOENT: noFolder,
  ENOTDIR: noFolder,
};

/** An error of the disk as one for a person; any other as it is. */
export function explainDiskError(error: unknown, file: string): unknown {
  const code = errorCode(error);
  // Node's own errors have an underscore in their code.
  if (error instanceof CliError || code === undefined || !/^E[A-Z]+$/.test(code)) return error;
  const hint = whatToDo[code] ?? 'Name another file.';
  return new CliError(`${file} cannot be written (${code}).`, { hint, cause: error });
}
