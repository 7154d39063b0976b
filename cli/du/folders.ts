import { compareKeys } from '../../lambda/core/rules/names.ts';
import type { KeyRange } from '../../lambda/core/scan/rules/key-space.ts';
import type { CountedPart } from '../../lambda/core/scan/rules/scan-plan.ts';
import { CliError } from '../errors.ts';
import { formatCount } from '../render.ts';

/** Sums of folders that are kept while more may be found in them, before those that are complete are looked for. */
const openFoldersMax = 65_536;

/** More of them, and the scan ends: a store without an order leaves all of them open. */
const foldersMax = 500_000;

/** Objects and bytes below a folder. */
export interface FolderSum {
  objects: number;
  bytes: bigint;
}

export interface Folder extends Readonly<FolderSum> {
  readonly folder: string;
}

/** What is kept of the folders, in a form that JSON can hold. */
export interface KeptFolders {
  readonly completeCount: number;
  /** The largest of the complete ones. */
  readonly largest: readonly KeptFolder[];
  /** Those that reach into ranges that are not listed yet. */
  readonly open: readonly KeptFolder[];
}

export type KeptFolder = readonly [folder: string, objects: number, bytes: string];

export interface FolderResult {
  readonly folderCount: number;
  /** The largest first. */
  readonly largest: readonly Folder[];
}

/**
 * The folder of a name: its first `depth` parts, each with its slash. A name with fewer parts lies directly in the
 * folder that is returned, which is empty for one directly below the path.
 */
export function folderOf(name: string, depth: number): { folder: string; isDirect: boolean } {
  let end = 0;
  for (let level = 0; level < depth; level += 1) {
    const slash = name.indexOf('/', end);
    if (slash < 0) return { folder: name.slice(0, end), isDirect: true };
    end = slash + 1;
  }
  return { folder: name.slice(0, end), isDirect: false };
}

/**
 * Sums of the folders of a part. If its keys are in order, a folder's keys are neighbours, so that only those around its
 * ends are decoded; of names that lie directly in a folder above, each is.
 *
 * @param prefix of all keys. A name is what follows it.
 */
export function foldersOfPart(
  { page, keyCount, sizeBytes, inAnyOrder }: CountedPart,
  { prefix, depth }: { prefix: string; depth: number },
): ReadonlyMap<string, FolderSum> {
  const sums = new Map<string, FolderSum>();
  // A key that ends one folder's run begins the next one.
  const decoded = new Map<number, string>();
  const keyAt = (index: number) => {
    const key = decoded.get(index) ?? page.keyAt(index);
    decoded.set(index, key);
    return key;
  };
  for (let index = 0; index < keyCount; ) {
    const { folder, isDirect } = folderOf(keyAt(index).slice(prefix.length), depth);
    const start = prefix + folder;
    const end =
      isDirect || inAnyOrder
        ? index + 1
        : endOfRun({ from: index, to: keyCount }, (at) => keyAt(at).startsWith(start));
    let bytes = 0;
    if (end - index === keyCount) bytes = sizeBytes;
    else for (let at = index; at < end; at += 1) bytes += page.sizeAt(at);
    const sum = sums.get(folder) ?? { objects: 0, bytes: 0n };
    sums.set(folder, { objects: sum.objects + end - index, bytes: sum.bytes + BigInt(bytes) });
    index = end;
  }
  return sums;
}

/** Where a run that begins at `from` ends. It looks at the last index first: most pages have a single folder. */
function endOfRun({ from, to }: { from: number; to: number }, isOfRun: (index: number) => boolean): number {
  if (isOfRun(to - 1)) return to;
  let [last, step] = [from, 1];
  const goesOn = () => last + step < to && isOfRun(last + step);
  // In steps that double until one is too long, and then halve.
  for (; goesOn(); step *= 2) last += step;
  for (step /= 2; step >= 1; step /= 2) if (goesOn()) last += step;
  return last + 1;
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
  /** Of the complete ones, the largest first. */
  #largest: readonly Folder[];
  #completeCount: number;
  #openBefore = 0;

  /** @param top how many of the largest are kept. */
  constructor({ top, kept }: { top: number; kept?: KeptFolders | null | undefined }) {
    this.#top = top;
    this.#completeCount = kept?.completeCount ?? 0;
    this.#largest = largestOf((kept?.largest ?? []).map(folderFrom), top);
    for (const { folder, ...sum } of (kept?.open ?? []).map(folderFrom)) this.#open.set(folder, sum);
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
    if (this.#open.size > foldersMax) {
      throw new CliError(`There are over ${formatCount(foldersMax)} folders that aren't complete.`, {
        hint: 'Leave out --by-prefix, or use a lower --depth.',
      });
    }
    this.#openBefore = this.#open.size;
  }

  /** What a continuation needs. */
  keep(openRanges: readonly KeyRange[]): KeptFolders {
    this.#settle(openRanges);
    return {
      completeCount: this.#completeCount,
      largest: this.#largest.map(keptOf),
      open: this.#openFolders().map(keptOf),
    };
  }

  /** Folders that are not complete count with what was found so far. */
  get result(): FolderResult {
    return {
      folderCount: this.#completeCount + this.#open.size,
      largest: largestOf([...this.#largest, ...this.#openFolders()], this.#top),
    };
  }

  #openFolders(): Folder[] {
    return [...this.#open].map(([folder, sum]) => ({ folder, ...sum }));
  }

  #settle(openRanges: readonly KeyRange[]): void {
    const reaches = reachOf(openRanges);
    const smallest = this.#largest[this.#top - 1];
    const large = [...this.#largest];
    for (const [folder, sum] of this.#open) {
      if (reaches(folder)) continue;
      this.#open.delete(folder);
      this.#completeCount += 1;
      const complete = { folder, ...sum };
      if (smallest === undefined || compareFolders(complete, smallest) < 0) large.push(complete);
    }
    this.#largest = largestOf(large, this.#top);
  }
}

export function largestOf(folders: Folder[], top: number): readonly Folder[] {
  return folders.sort(compareFolders).slice(0, top);
}

/** By bytes, the largest first; of equal ones the first name. */
function compareFolders(a: Folder, b: Folder): number {
  if (a.bytes !== b.bytes) return a.bytes > b.bytes ? -1 : 1;
  return a.folder < b.folder ? -1 : 1;
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

export function keptOf({ folder, objects, bytes }: Folder): KeptFolder {
  return [folder, objects, String(bytes)];
}

export function folderFrom([folder, objects, bytes]: KeptFolder): Folder {
  return { folder, objects, bytes: BigInt(bytes) };
}
