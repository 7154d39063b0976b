import { compareKeys } from '../../lambda/domain/key-order.ts';
import type { KeyRange } from '../../lambda/domain/scan/key-space.ts';
import type { FolderSum } from './folder-parts.ts';
import { compareFolders, type Folder, Largest } from './largest.ts';

/** Sums of folders that are kept while more may be found in them, before those that are complete are looked for. */
const openFoldersMax = 65_536;

/** What is kept of the folders, in a form that JSON can hold. */
export interface KeptFolders {
  readonly completeCount: number;
  /** The largest of the complete ones. */
  readonly largest: readonly KeptFolder[];
  /** Those that reach into ranges that are not listed yet. */
  readonly open: readonly KeptFolder[];
}

type KeptFolder = readonly [folder: string, objects: number, bytes: string];

export interface FolderResult {
  readonly folderCount: number;
  /** The largest first. */
  readonly largest: readonly Folder[];
}

/**
 * Sums by folder, in bounded memory. A folder is complete once it reaches into no range that is still to be listed,
 * whatever ranges its parts were found in. Complete ones are counted, and of them only the largest are kept. So the
 * largest are exact, and what is kept are they, two folders a range and level, and at most {@link openFoldersMax} that
 * have not been looked at yet.
 */
export class FolderSums {
  readonly #top: number;
  readonly #open = new Map<string, FolderSum>();
  readonly #largest: Largest;
  #completeCount = 0;
  #openBefore = 0;

  /** @param top how many of the largest are kept. */
  constructor({ top, kept }: { top: number; kept?: KeptFolders | undefined }) {
    this.#top = top;
    this.#largest = new Largest(top);
    if (kept === undefined) return;
    this.#completeCount = kept.completeCount;
    for (const saved of kept.largest) this.#largest.offer(folderFrom(saved));
    for (const saved of kept.open) {
      const { folder, objects, bytes } = folderFrom(saved);
      this.#open.set(folder, { objects, bytes });
    }
  }

  /** @param openRanges the ranges in which nothing was added yet; the one that the sums are from may be among them. */
  add(sums: ReadonlyMap<string, FolderSum>, openRanges: () => readonly KeyRange[]): void {
    for (const [folder, { objects, bytes }] of sums) {
      const sum = this.#open.get(folder);
      if (sum === undefined) this.#open.set(folder, { objects, bytes });
      else {
        sum.objects += objects;
        sum.bytes += bytes;
      }
    }
    if (this.#open.size < openFoldersMax + this.#openBefore) return;
    this.#settle(openRanges());
    this.#openBefore = this.#open.size;
  }

  /** What a continuation needs. */
  keep(openRanges: readonly KeyRange[]): KeptFolders {
    this.#settle(openRanges);
    const open = [...this.#open].map(([folder, sum]) => ({ folder, ...sum }));
    return {
      completeCount: this.#completeCount,
      largest: this.#largest.all.map(keptOf),
      open: open.map(keptOf),
    };
  }

  /** Folders that are not complete count with what was found so far. */
  get result(): FolderResult {
    const all = new Largest(this.#top);
    for (const folder of this.#largest.all) all.offer(folder);
    for (const [folder, sum] of this.#open) all.offer({ folder, ...sum });
    return {
      folderCount: this.#completeCount + this.#open.size,
      largest: [...all.all].sort(compareFolders),
    };
  }

  #settle(openRanges: readonly KeyRange[]): void {
    const reaches = reachOf(openRanges);
    for (const [folder, sum] of this.#open) {
      if (reaches(folder)) continue;
      this.#open.delete(folder);
      this.#completeCount += 1;
      this.#largest.offer({ folder, ...sum });
    }
  }
}

/** Tells of a folder whether any of the ranges, which do not overlap, may have a name in it. */
function reachOf(ranges: readonly KeyRange[]): (folder: string) => boolean {
  const inOrder = [...ranges].sort((a, b) =>
    a.after === null ? -1 : b.after === null ? 1 : compareKeys(a.after, b.after),
  );
  return (folder) => {
    if (folder === '') return inOrder.length > 0;
    let [low, high] = [0, inOrder.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const last = inOrder[middle]?.last ?? null;
      if (last === null || compareKeys(last, folder) >= 0) high = middle;
      else low = middle + 1;
    }
    const range = inOrder[low];
    // `0` is the character after the slash: the first name after all of the folder's.
    const end = `${folder.slice(0, -1)}0`;
    return range !== undefined && (range.after === null || compareKeys(range.after, end) < 0);
  };
}

function keptOf({ folder, objects, bytes }: Folder): KeptFolder {
  return [folder, objects, String(bytes)];
}

function folderFrom([folder, objects, bytes]: KeptFolder): Folder {
  return { folder, objects, bytes: BigInt(bytes) };
}
