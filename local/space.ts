import { readdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type DiskLevel, keptFreeBytes } from '../lambda/status/rules/disk.ts';
import type { ObjectStore } from '../lambda/store/rules/store.ts';

/** The fullest of the disks that some folders are on. */
export function readDisk(...folders: readonly string[]): DiskLevel {
  const levelOf = (folder: string): DiskLevel => {
    try {
      const { bavail, bsize, blocks } = statfsSync(folder);
      return { folder, freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
    } catch {
      return { folder, freeBytes: Number.NaN, sizeBytes: Number.NaN };
    }
  };
  const share = (disk: DiskLevel) => disk.freeBytes / keptFreeBytes(disk);
  return folders.map(levelOf).reduce((fullest, disk) => (share(disk) < share(fullest) ? disk : fullest));
}

/**
 * The space on a store's disk that no upload was promised. What was promised before a restart is forgotten: the disk itself
 * refuses it if need be.
 */
export function createTakeSpace(
  { folder, head }: { folder: string; head: (key: string) => object | undefined },
  nowMs: () => number,
  disk = () => readDisk(folder),
): NonNullable<ObjectStore['takeSpace']> {
  const promised = new Map<string, { readonly bytes: number; readonly untilMs: number }>();
  const uploads = join(folder, 'uploads');
  const sizeOf = (name: string) => statSync(join(uploads, name), { throwIfNoEntry: false })?.size ?? 0;
  return (asked, untilMs) => {
    for (const [key, promise] of promised) if (promise.untilMs < nowMs() || head(key)) promised.delete(key);
    const promisedBytes = [...promised.values()].reduce((sum, { bytes }) => sum + bytes, 0);
    const arrivedBytes = readdirSync(uploads).reduce((sum, name) => sum + sizeOf(name), 0);
    const level = disk();
    let leftBytes = level.freeBytes - keptFreeBytes(level) - Math.max(0, promisedBytes - arrivedBytes);
    const lacking = asked.filter(({ key, sizeBytes, inChunks }) => {
      // Chunks are there three times for a while: as they came, as parts, and as the object.
      const bytes = inChunks ? 3 * sizeBytes : sizeBytes;
      const moreBytes = bytes - (promised.get(key)?.bytes ?? 0);
      if (moreBytes > leftBytes) return true;
      promised.set(key, { bytes, untilMs });
      leftBytes -= moreBytes;
      return false;
    });
    return { lacking, freeBytes: Math.max(0, Math.floor(leftBytes)) };
  };
}
