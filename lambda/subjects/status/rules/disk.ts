import { formatBytes } from '../../../core/rules/sizes.ts';
import { act, fine, type StatusPart } from './status.ts';

/** NaN: the file system doesn't tell. */
export interface DiskLevel {
  readonly folder: string;
  readonly freeBytes: number;
  readonly sizeBytes: number;
}

const mebibyte = 1024 ** 2;

/** What uploads leave free, as the table needs it: 256 MiB, and less of a small disk. */
export const keptFreeBytes = ({ sizeBytes }: DiskLevel) => Math.min(256 * mebibyte, sizeBytes / 20);
const lowBytes = (disk: DiskLevel) =>
  Math.max(2 * keptFreeBytes(disk), Math.min(10_240 * mebibyte, disk.sizeBytes / 20));

/** Of a server that keeps its table, and maybe its objects, on a disk of its own. */
export interface DiskState extends DiskLevel {
  /** The table. */
  readonly isWritable: boolean;
}

/** Whether pushes fail. */
export const isFull = (disk: DiskState) => !disk.isWritable || disk.freeBytes <= keptFreeBytes(disk);

export function diskPart(disk: DiskState): StatusPart {
  const { folder, freeBytes, sizeBytes, isWritable } = disk;
  const part = 'disk';
  const level = `${formatBytes(freeBytes)} free of ${formatBytes(sizeBytes)} (${folder}).`;
  if (isWritable && Number.isNaN(freeBytes))
    return { part, state: 'unknown', says: "The disk's free space can't be read.", todo: `Check ${folder}.` };
  if (!isFull(disk) && freeBytes >= lowBytes(disk)) return fine(part, `The disk has ${level}`);
  const what = isWritable ? `The disk is ${isFull(disk) ? '' : 'nearly '}full` : "The table can't be written";
  const todo =
    "Pushes fail while it's full. Make it larger, or delete other files there. Deleted objects free up space after an hour. Don't restart the server first: without space, it can't start.";
  return act(part, `${what}: ${level}`, todo);
}
