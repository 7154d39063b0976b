import * as z from 'zod';
import { sha256Hex } from '../../rules/hash.ts';
import type { Settings } from '../../rules/settings.ts';
import type { Frozen } from '../../rules/stored.ts';
import { deletionObjectsMax } from './deletion.ts';
import { lastPutMs } from './reservation.ts';

export const emptiedFields = z.object({
  repo: z.string(),
  /** Begins with `dueAtMs`, so that they sort by it. */
  id: z.string(),
  names: z.array(z.string()),
  /** No PUT of these names ends after this, whichever clock is asked. Then the empty objects go. */
  dueAtMs: z.number(),
});

/**
 * Names of a repo of kind `files` at which objects of 0 bytes are, or are being put: each ends every URL of its name at once,
 * also one whose PUT is under way. They aren't shown, and don't count.
 */
export type Emptied = Frozen<z.output<typeof emptiedFields>>;

/** So long after it was due, one that nobody knows of goes by itself. */
export const emptiedKeptMs = 90 * 24 * 60 * 60_000;

const hour = 60 * 60_000;

/**
 * One that is tried again within the hour, because the store didn't answer, is the same.
 *
 * @param input.byMs the empty objects are there by then, or never. No URL is handed out later.
 */
export function newEmptied(
  settings: Settings,
  input: { repo: string; names: readonly string[]; byMs: number },
): Emptied {
  const { repo, names } = input;
  const handedOutMs = Math.ceil(input.byMs / hour) * hour + settings.pendingVoidAfterMs;
  const dueAtMs = lastPutMs(settings, { sizeBytes: settings.objectBytesMax, handedOutMs });
  return { repo, names, dueAtMs, id: idOf({ names, dueAtMs }) };
}

const idOf = ({ names, dueAtMs }: Pick<Emptied, 'names' | 'dueAtMs'>) =>
  `${String(dueAtMs).padStart(15, '0')}-${sha256Hex([...names].sort().join('\n')).slice(0, 32)}`;

/** What an empty object is marked with: when it goes. */
export const markOf = ({ dueAtMs }: Emptied) => String(dueAtMs);

/** Whether one with this mark may go: a later record may be about the same name. */
export const isOver = (mark: string, settings: Settings, nowMs: number) =>
  nowMs > Number(mark) + 2 * settings.clockSkewMs;

/** Those with fewer names are put together, if there are so many. */
const [fewNames, manyRecords] = [500, 50];

/** Records of a repo that say the same as these in fewer: those that go at the same time, or a name would stay taken for weeks. */
export function mergedEmptied(records: readonly Emptied[]): { merged: Emptied[]; replaced: Emptied[] } {
  const few = records.filter(({ names }) => names.length < fewNames);
  const sums = [...new Set(few.map(({ dueAtMs }) => dueAtMs))].map((dueAtMs) => {
    const replaced = few.filter((each) => each.dueAtMs === dueAtMs);
    const [first] = replaced;
    if (!first || replaced.length < manyRecords) return { merged: [], replaced: [] };
    const all = new Set(replaced.flatMap(({ names }) => names));
    const merged = [...portionsOf([...all].map((name) => [name, true] as const))].map((portion) => {
      const names = [...portion.keys()];
      return { repo: first.repo, names, dueAtMs, id: idOf({ names, dueAtMs }) };
    });
    return { merged, replaced };
  });
  return {
    merged: sums.flatMap(({ merged }) => merged),
    replaced: sums.flatMap(({ replaced }) => replaced),
  };
}

/** UTF-8 bytes of the names in one item. With sizes they fit into its 400 KB. */
const nameBytesMax = 200_000;

/** Cuts entries into as many as one item can name. */
export function* portionsOf<V>(entries: Iterable<readonly [name: string, V]>): Iterable<Map<string, V>> {
  let portion = new Map<string, V>();
  let nameBytes = 0;
  for (const [name, value] of entries) {
    const bytes = Buffer.byteLength(name);
    if (portion.size === deletionObjectsMax || (portion.size > 0 && nameBytes + bytes > nameBytesMax)) {
      yield portion;
      portion = new Map();
      nameBytes = 0;
    }
    nameBytes += bytes;
    portion.set(name, value);
  }
  if (portion.size > 0) yield portion;
}
