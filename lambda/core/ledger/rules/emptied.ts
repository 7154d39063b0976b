import * as z from 'zod';
import type { Settings } from '../../rules/settings.ts';
import type { Frozen } from '../../rules/stored.ts';
import { deletionObjectsMax } from './deletion.ts';
import { lastPutMs } from './reservation.ts';

export const emptiedFields = z.object({
  repo: z.string(),
  /** Begins with `dueAtMs`, so that they sort by it. The objects are marked with it. */
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

/**
 * @param input.byMs the empty objects are there by then, or never. No URL is handed out later.
 * @param input.random so that each has an id of its own.
 */
export function newEmptied(
  settings: Settings,
  input: { repo: string; names: readonly string[]; byMs: number; random: string },
): Emptied {
  const { repo, names, byMs, random } = input;
  const handedOutMs = byMs + settings.pendingVoidAfterMs;
  const dueAtMs = lastPutMs(settings, { sizeBytes: settings.objectBytesMax, handedOutMs });
  return { repo, names, dueAtMs, id: `${String(dueAtMs).padStart(15, '0')}-${random}` };
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
