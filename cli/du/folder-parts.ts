import type { CountedPart } from '../../lambda/ports/path-scan.ts';

/** Objects and bytes below a folder. */
export interface FolderSum {
  objects: number;
  bytes: bigint;
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
 * Sums of the folders of a part whose keys are in order. A folder's keys are neighbours then, so that only those around
 * its ends are decoded; of names that lie directly in a folder above, each is.
 *
 * @param prefix of all keys. A name is what follows it.
 */
export function foldersOfPart(
  { page, keyCount, sizeBytes }: CountedPart,
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
    const end = isDirect
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
  let [low, high, step] = [from, from + 1, 1];
  while (high < to - 1 && isOfRun(high)) {
    low = high;
    step *= 2;
    high = Math.min(to - 1, high + step);
  }
  while (high - low > 1) {
    const middle = (low + high) >>> 1;
    if (isOfRun(middle)) low = middle;
    else high = middle;
  }
  return high;
}
