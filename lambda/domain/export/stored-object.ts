/** An object of the store, as a listing shows it. */
export interface StoredObject {
  /** SHA-256 of its bytes as 64 lower-case hex digits. */
  readonly oid: string;
  readonly sizeBytes: number;
  /** As the store gave it: a copy is made only from this version. */
  readonly etag: string;
  /** Where it lies in the bucket. */
  readonly key: string;
  /** Its name in the archive. Without one it gets the name below `.git` that git-lfs looks for. */
  readonly name?: string;
}

export interface DistinctObjects {
  /** One object for each oid, in the order of the oids. */
  readonly objects: readonly StoredObject[];
  /** Objects that were left out because another has their oid, and another size: one of them is broken. */
  readonly conflicts: readonly StoredObject[];
}

/** The order of texts by their UTF-16 units, for hex digits and keys alike the same on every machine. */
function compareText(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function isBefore(a: StoredObject, b: StoredObject): boolean {
  return a.oid < b.oid || (a.oid === b.oid && a.key < b.key);
}

/**
 * Each oid once, however many repos have it: the object with the first key stays. The same objects in any order give
 * the same result, so the same plan.
 */
export function distinctObjects(listed: readonly StoredObject[]): DistinctObjects {
  // A repo is listed in this order. To sort a million objects takes a second.
  const isSorted = listed.every((object, index) => {
    const before = listed[index - 1];
    return before === undefined || isBefore(before, object);
  });
  const sorted = isSorted
    ? listed
    : [...listed].sort((a, b) => compareText(a.oid, b.oid) || compareText(a.key, b.key));
  const objects: StoredObject[] = [];
  const conflicts: StoredObject[] = [];
  for (const object of sorted) {
    const kept = objects.at(-1);
    if (kept?.oid !== object.oid) objects.push(object);
    else if (kept.sizeBytes !== object.sizeBytes) conflicts.push(object);
  }
  return { objects, conflicts };
}
