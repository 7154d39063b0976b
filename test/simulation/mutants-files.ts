import type { Ledger } from '../../lambda/core/ledger/ledger.ts';
import type { ObjectStore } from '../../lambda/core/store/rules/store.ts';
import { replacing } from './replacing.ts';
import type { Focus } from './seeds.ts';
import {
  arrivedWhileCanceled,
  deletedForOthers,
  deletedWhileScanned,
  sentTwiceAndDeleted,
} from './stories-files.ts';
import type { Story } from './story.ts';
import type { Mutant } from './world.ts';

/** Mistakes with files. */

const hour = 60 * 60_000;

const withStore = (change: (store: ObjectStore) => Partial<ObjectStore>): Mutant => ({
  deps: (deps) => ({ ...deps, store: replacing(deps.store, change(deps.store)) }),
});

const withLedger = (change: (ledger: Ledger) => Partial<Ledger>): Mutant => ({
  ledger: (ledger) => replacing(ledger, change(ledger)),
});

/** A file is deleted although its URLs work. */
const deletedPlainly = withStore((store) => ({
  putEmpty: async (key, options) => {
    if (options.onlyNew) return store.putEmpty(key, options);
    await store.delete([key], options);
    return 'put';
  },
}));

/** What it cancels may have arrived. */
const replaced = withStore((store) => ({
  putEmpty: (key, options) => store.putEmpty(key, { ...options, onlyNew: false }),
}));

/** A URL stores something where something is. */
const signedWithoutCondition: Mutant = {
  deps: (deps) => ({
    ...deps,
    signer: replacing(deps.signer, {
      signUpload: ({ onlyNew: _, ...input }) => deps.signer.signUpload(input),
    }),
  }),
};

/** Empty objects go while PUTs may be under way. */
const removedSoon: Mutant = {
  ...withStore((store) => ({
    putEmpty: (key, { mark, ...options }) =>
      store.putEmpty(key, { ...options, mark: String(Number(mark) - 24 * hour) }),
  })),
  ...withLedger((ledger) => ({
    async *emptied(path) {
      for await (const page of ledger.emptied(path))
        yield page.map((each) => ({ ...each, dueAtMs: each.dueAtMs - 24 * hour }));
    },
  })),
};

/** What is lapsed counts beyond the limit only, as where a slow PUT replaces what it stores. */
const lateAsOids = withLedger((ledger) => ({
  repos: async function* (tenant) {
    for await (const page of ledger.repos(tenant)) yield page.map(({ kind: _, ...repo }) => repo);
  },
}));

/** The confirmed usage has what a delete frees. */
const notAnnounced = withLedger((ledger) => ({
  announceDelete: (input) => ledger.announceDelete({ ...input, note: { ...input.note, bytes: 0 } }),
}));

/** A scan that saw what went is taken for true. */
const notDirty = withLedger(() => ({ markDirty: async () => 'marked' }));

/** Empty objects count, as nobody knows of them. */
const shown = withLedger((ledger) => ({
  async *emptied({ tenant, repo }) {
    if (repo !== undefined) yield* ledger.emptied({ tenant, repo });
  },
}));

/** In a large repo, who looks for what is claimed takes an empty object for a file. */
const takenForFiles = withStore((store) => ({
  head: async (key) => {
    const stored = await store.head(key);
    if (stored === undefined) return undefined;
    const { mark: _, ...file } = stored;
    return file;
  },
}));

/** Name, invariant that each breaks, and within how many seeds it's found: three times what it took. */
const rows: readonly {
  name: string;
  mutant: Mutant;
  invariant: RegExp;
  seeds: number;
  story?: Story;
  focus?: Focus;
}[] = [
  {
    name: 'a file that is deleted plainly',
    mutant: deletedPlainly,
    invariant: /^I1/,
    seeds: 30,
    story: sentTwiceAndDeleted,
  },
  {
    name: 'a cancel that replaces',
    mutant: replaced,
    invariant: /^I7/,
    seeds: 60,
    story: arrivedWhileCanceled,
  },
  { name: 'a URL without its condition', mutant: signedWithoutCondition, invariant: /^I[13]/, seeds: 30 },
  {
    name: 'an empty object that goes soon',
    mutant: removedSoon,
    invariant: /^I1/,
    seeds: 30,
    story: sentTwiceAndDeleted,
  },
  { name: 'late files below the limit', mutant: lateAsOids, invariant: /^I1/, seeds: 60 },
  {
    name: 'a delete that is not announced',
    mutant: notAnnounced,
    invariant: /^I2/,
    seeds: 30,
    story: deletedForOthers,
  },
  {
    name: 'a delete without a dirty token',
    mutant: notDirty,
    invariant: /^I/,
    seeds: 30,
    story: deletedWhileScanned,
  },
  { name: 'empty objects that count', mutant: shown, invariant: /^I3/, seeds: 30 },
  {
    name: 'empty objects that a large repo takes for files',
    mutant: takenForFiles,
    invariant: /^I/,
    seeds: 150,
    focus: 'large-repos',
  },
];

export const fileMutants = rows.map((row) => ({ focus: 'files' as const, ...row }));
