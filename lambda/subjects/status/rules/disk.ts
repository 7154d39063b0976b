import { formatBytes } from '../../../core/rules/sizes.ts';
import { type DiskLevel, type DiskState, isFull, keptFreeBytes } from '../../../frame/gauges/rules/disk.ts';
import { act, fine, type StatusPart } from './status.ts';

const lowBytes = (disk: DiskLevel) =>
  Math.max(2 * keptFreeBytes(disk), Math.min(10 * 1024 ** 3, disk.sizeBytes / 20));

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
