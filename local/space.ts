import { readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ObjectStore } from '../lambda/core/store/rules/store.ts';
import { type DiskLevel, keptFreeBytes } from '../lambda/frame/gauges/rules/disk.ts';

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

type TakesSpace = Required<Pick<ObjectStore, 'takeSpace' | 'leaveSpace'>>;

/**
 * The space on a store's disk that no upload was promised. What was promised before a restart is forgotten: the disk itself
 * refuses it if need be.
 */
export function createSpace(
  { folder, head }: { folder: string; head: (key: string) => object | undefined },
  nowMs: () => number,
  diskOf = readDisk,
): TakesSpace {
  const promised = new Map<string, { readonly bytes: number; readonly untilMs: number }>();
  let promisedBytes = 0;
  let lookAtCount = 10_000;
  const promise = (key: string, by?: { bytes: number; untilMs: number }) => {
    promisedBytes += (by?.bytes ?? 0) - (promised.get(key)?.bytes ?? 0);
    if (by) promised.set(key, by);
    else promised.delete(key);
  };
  const [uploads, multipart] = [join(folder, 'uploads'), join(folder, 'multipart')];
  const bytesIn = (at: string) =>
    readdirSync(at).reduce(
      (sum, name) => sum + (statSync(join(at, name), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
  /** Of an upload in parts. What ends meanwhile has none. */
  const partBytes = (id: string) => {
    try {
      const record = readFileSync(join(multipart, id, 'upload.json'));
      const bytes = promised.get(JSON.parse(String(record)).key)?.bytes ?? 0;
      return Math.min(bytes, bytesIn(join(multipart, id)) - record.length);
    } catch {
      return 0;
    }
  };
  /** Goes through all promises, so it's for when there's too little space, or there are twice as many. */
  const arrivedBytes = () => {
    for (const [key, { untilMs }] of promised) if (untilMs < nowMs() || head(key)) promise(key);
    lookAtCount = Math.max(10_000, 2 * promised.size);
    const inParts = readdirSync(multipart).reduce((sum, id) => sum + partBytes(id), 0);
    return Math.min(promisedBytes, bytesIn(uploads) + inParts);
  };
  const takeSpace: TakesSpace['takeSpace'] = (asked, untilMs) => {
    const level = diskOf(folder);
    const wanted = asked.map((upload) => {
      const bytes = upload.diskBytes;
      return { upload, bytes, moreBytes: () => bytes - (promised.get(upload.key)?.bytes ?? 0) };
    });
    const left = () => level.freeBytes - keptFreeBytes(level) - promisedBytes;
    const isEnough = wanted.reduce((sum, { moreBytes }) => sum + moreBytes(), 0) <= left();
    const extraBytes = isEnough && promised.size < lookAtCount ? 0 : arrivedBytes();
    const lacking = wanted.filter(({ upload: { key }, bytes, moreBytes }) => {
      if (moreBytes() > left() + extraBytes) return true;
      promise(key, { bytes, untilMs });
      return false;
    });
    const freeBytes = Math.max(0, Math.floor(left() + extraBytes));
    return { lacking: lacking.map(({ upload }) => upload), freeBytes };
  };
  return { takeSpace, leaveSpace: (key) => promise(key) };
}
