import type { Ledger } from '../../../../lambda/core/ledger/ledger.ts';
import type { Deletion } from '../../../../lambda/core/ledger/rules/deletion.ts';
import type { SeenNote } from '../../../../lambda/core/ledger/rules/watch.ts';
import { prefixBytes } from '../../../../lambda/core/rules/prefix-set.ts';
import { replacing } from '../../replacing.ts';
import type { World } from '../../world.ts';
import type { GcMutant } from './gc.ts';

/** Mistakes in a gc run. With each of them something that a ref needs is deleted. */

/** Batches do not note what they name. */
const noWatch: GcMutant = {
  ledger: (ledger) => replacing(ledger, { noteSeen: async () => undefined }),
};

/** A deletion relies on what was read before it was marked. */
const seenBeforeMark: GcMutant = {
  ledger: (ledger, world) => {
    const read = readIn.get(world) ?? new Map<string, readonly SeenNote[]>();
    readIn.set(world, read);
    return replacing(ledger, {
      seen: async function* (input) {
        if (input.fromMs === 0) {
          const intents: SeenNote[] = [];
          for await (const page of ledger.seen(input)) intents.push(...page);
          read.set(input.watchId, intents);
        }
        yield read.get(input.watchId) ?? [];
      },
    });
  },
};

/** Watch → notes. */
const readIn = new WeakMap<World, Map<string, readonly SeenNote[]>>();

/** A batch notes what it names after it has read deletions. */
const notedAfterDeletions: GcMutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      noteSeen: async (input) => world.scheduler.after(60_000, () => void world.ledger.noteSeen(input)),
    }),
};

const landsAgainAfterMs = 12 * 60_000;

/** A deletion does not know its watch. It is written once more after the gc run has ended, and what it names was pushed. */
const outlivesWatch: GcMutant = {
  ledger: (ledger, world) =>
    replacing(ledger, {
      putDeletion: async (input) => {
        const isPut = await ledger.putDeletion(input);
        const { sweep, ...deletion } = input.deletion;
        const again = { tenant: input.tenant, deletion };
        if (sweep) world.scheduler.after(landsAgainAfterMs, () => void world.ledger.putDeletion(again));
        return isPut;
      },
    }),
};

/** What was named while candidates were listed is taken to have been looked at. */
const seenByTheEnd: GcMutant = {
  deps: (deps, world) => ({
    ...deps,
    gcRuns: replacing(deps.gcRuns, {
      put: ({ gc, ...input }) => {
        const { selection } = gc;
        const seenAtMs = world.scheduler.nowMs;
        const isNew = selection && gc.state !== 'selecting' && !seenAt.has(selection.folder);
        if (selection && isNew) seenAt.set(selection.folder, seenAtMs);
        const late = selection && { ...selection, seenAtMs: seenAt.get(selection.folder) ?? seenAtMs };
        return deps.gcRuns.put({ ...input, gc: late ? { ...gc, selection: late } : gc });
      },
    }),
  }),
};

/** Folder of a selection → when it ended. */
const seenAt = new Map<string, number>();

/**
 * A batch's writes take long, which is no mistake: it asks the store before a deletion, and what it notes lands after that has
 * ended. Only the record tells it then what is gone.
 */
function withSlowNotes(mistake: (ledger: Ledger) => Ledger): GcMutant {
  const slowMs = 20_000;
  return {
    ledger: (ledger, world) =>
      replacing(mistake(ledger), {
        noteSeen: async (input) => {
          await world.wait(slowMs);
          return ledger.noteSeen(input);
        },
        putReservation: async (input) => {
          if (input.reservation.state === 'pending') await world.wait(slowMs);
          return ledger.putReservation(input);
        },
      }),
  };
}

/** Not a mistake: nothing goes wrong. */
export const slowNotes = withSlowNotes((ledger) => ledger);

/** What a gc run has deleted leaves a record that is changed. */
const recording = (change: (prefixes: string) => string) =>
  withSlowNotes((ledger) =>
    replacing(ledger, {
      endDeletion: ({ prefixes, ...input }) =>
        ledger.endDeletion({ ...input, ...(prefixes !== undefined && { prefixes: change(prefixes) }) }),
    }),
  );

const withoutNames = recording(() => '');

/** The last bytes of each oid come first. */
const ofOtherBytes = recording((prefixes) => Buffer.from(prefixes, 'base64').reverse().toString('base64'));

/** Only the first object of each deletion. */
const ofOne = recording((prefixes) =>
  Buffer.from(prefixes, 'base64').subarray(0, prefixBytes).toString('base64'),
);

/** A batch knows records by whole names alone, as older versions do. */
const unread = withSlowNotes((ledger) =>
  replacing(ledger, {
    deletionsOf: async function* (path) {
      for await (const page of ledger.deletionsOf(path)) yield page.map(withoutPrefixes);
    },
    deletionsNaming: async (input) => (await ledger.deletionsNaming(input)).map(withoutPrefixes),
  }),
);

const withoutPrefixes = ({ prefixes: _, ...deletion }: Deletion): Deletion => deletion;

/** The record goes with the deletion, as that of a closed repo does. */
const notKept = withSlowNotes((ledger) =>
  replacing(ledger, { endDeletion: (input) => ledger.endDeletion({ ...input, keptUntilMs: null }) }),
);

export const gcMutants: readonly { name: string; mutant: GcMutant; seeds: number }[] = [
  { name: 'a gc run without a watch', mutant: noWatch, seeds: 10 },
  { name: 'a rule that overlooks a branch', mutant: { forgetsTip: true }, seeds: 10 },
  { name: 'a snapshot before the watch', mutant: { isSnapshotFirst: true }, seeds: 10 },
  { name: 'what was seen, read before the mark', mutant: seenBeforeMark, seeds: 60 },
  { name: 'what is named, noted after deletions were read', mutant: notedAfterDeletions, seeds: 60 },
  { name: 'what was seen, read at the end of the listing', mutant: seenByTheEnd, seeds: 60 },
  { name: 'a deletion that outlives its watch', mutant: outlivesWatch, seeds: 30 },
  { name: 'a record without names', mutant: withoutNames, seeds: 60 },
  { name: 'a record of other bytes', mutant: ofOtherBytes, seeds: 60 },
  { name: 'a record of one object', mutant: ofOne, seeds: 60 },
  { name: 'a record that batches do not read', mutant: unread, seeds: 60 },
  { name: 'a record that is not kept', mutant: notKept, seeds: 60 },
];
