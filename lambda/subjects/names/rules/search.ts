import {
  type NamedObject,
  type NameLine,
  type NamesHead,
  readNames,
  UnreadableNamesError,
} from './names-file.ts';

export const nameOrders = ['size', 'newest', 'oldest'] as const;
export type NameOrder = (typeof nameOrders)[number];

/** The last one of the page before. */
export interface NamePlace {
  readonly oid: string;
  readonly value: number;
}

export interface NameSearch {
  /** In a path, whatever the case, or at the start of an oid. */
  readonly text: string;
  /** Only what a branch or tag has, or what none has. */
  readonly isInUse: boolean | undefined;
  readonly order: NameOrder;
  readonly after: NamePlace | undefined;
  readonly countMax: number;
}

export interface FoundNames {
  readonly head: NamesHead;
  readonly names: readonly NamedObject[];
  /** Of all that match. */
  readonly sum: { readonly objectCount: number; readonly bytes: number };
  readonly next: NamePlace | null;
}

const ranks: Readonly<Record<NameOrder, (line: NameLine) => number>> = {
  size: ({ sizeBytes }) => -sizeBytes,
  newest: ({ committedMs }) => -(committedMs ?? 0),
  // What is in no commit comes last.
  oldest: ({ committedMs }) => committedMs ?? Number.MAX_SAFE_INTEGER,
};

const compare = (a: NamePlace, b: NamePlace) =>
  a.value - b.value || (a.oid < b.oid ? -1 : a.oid > b.oid ? 1 : 0);

/** One page of those that match, of a file that may have a million. @throws {UnreadableNamesError} */
export async function searchNames(file: Uint8Array, search: NameSearch): Promise<FoundNames> {
  const { isInUse, order, after, countMax } = search;
  const text = search.text.toLowerCase();
  const value = ranks[order];
  let first: (NamePlace & { readonly name: NamedObject })[] = [];
  let worst: NamePlace | undefined;
  const sum = { objectCount: 0, bytes: 0 };
  const head = await readNames(file, (line) => {
    if (isInUse !== undefined && line.isInUse !== isInUse) return;
    if (text !== '' && !line.has(text)) return;
    sum.objectCount += 1;
    sum.bytes += line.sizeBytes;
    const place = { oid: line.oid, value: value(line) };
    if ((after && compare(place, after) <= 0) || (worst && compare(place, worst) > 0)) return;
    first.push({ ...place, name: line.read() });
    // Sorted now and then: each costs as little as it would if all were sorted at the end.
    if (first.length < 2 * countMax + 100) return;
    first = first.sort(compare).slice(0, countMax + 1);
    worst = first.at(-1);
  });
  first.sort(compare);
  const shown = first.slice(0, countMax);
  // The table refuses to be asked for one twice.
  if (new Set(shown.map(({ oid }) => oid)).size < shown.length) throw new UnreadableNamesError();
  const last = shown.at(-1);
  return {
    head,
    names: shown.map(({ name }) => name),
    sum,
    next: last && first.length > countMax ? { oid: last.oid, value: last.value } : null,
  };
}
