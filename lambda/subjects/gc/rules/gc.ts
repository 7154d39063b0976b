import * as z from 'zod';
import type { RepoPath } from '../../../core/ledger/rules/tenant.ts';
import { watchSchema } from '../../../core/ledger/rules/watch.ts';
import { sha256Hex } from '../../../core/rules/hash.ts';
import { prefixBytes, prefixesMax } from '../../../core/rules/prefix-set.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import { ownFolders } from '../../../core/store/rules/own-folders.ts';

interface GcPath {
  readonly tenant: string;
  readonly watchId: string;
}

/** The prefix of all that a tenant's gc runs store, with its closing slash. */
export const gcPrefixOf = (tenant: string) => `${ownFolders.gc}/${tenant}/`;

/** Where a tenant's reachable sets are. All else is below the id of its watch. */
export const setsFolder = 'sets';

/** The prefix of all candidates of a watch. Older versions kept its reachable sets here, too. */
export function watchPrefix({ tenant, watchId }: GcPath): string {
  return `${gcPrefixOf(tenant)}${watchId}/`;
}

/**
 * What is needed, as the clone says. A repo has one place for it, whatever its watch: the next set replaces it, and what an old
 * URL brings lands where it's looked for. A run knows its own by the SHA-256.
 */
export function reachableSetKey({ tenant, repo }: RepoPath): string {
  return `${gcPrefixOf(tenant)}${setsFolder}/keep-${sha256Hex(repo)}`;
}

/** Bytes of the reachable sets that a tenant can have in the store at a time: two of the largest. */
export const setsBytesMax = 2 * prefixesMax * prefixBytes;

/** A file of candidates: `candidates.ts` says how. */
export function candidatesKey(path: GcPath, { folder, file }: { folder: string; file: number }): string {
  return `${watchPrefix(path)}${folder}/candidates-${file}.txt`;
}

/** Files of candidates: a line each, the oid, a blank, and the bytes. */

/** An object that may be deleted. */
export interface Candidate {
  readonly oid: string;
  readonly sizeBytes: number;
}

export function encodeCandidates(candidates: readonly Candidate[]): Buffer {
  return Buffer.from(candidates.map(({ oid, sizeBytes }) => `${oid} ${sizeBytes}\n`).join(''));
}

/** @returns undefined if it isn't such a file, or was cut: nothing may be deleted by it. */
export function decodeCandidates(bytes: Uint8Array): Candidate[] | undefined {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8').split('\n');
  if (lines.pop() !== '') return undefined;
  const candidates: Candidate[] = [];
  for (const line of lines) {
    const sizeBytes = Number(line.slice(oidDigits + 1));
    if (!candidateLine.test(line) || !Number.isSafeInteger(sizeBytes)) return undefined;
    candidates.push({ oid: line.slice(0, oidDigits), sizeBytes });
  }
  return candidates;
}

const oidDigits = 64;
const candidateLine = /^[0-9a-f]{64} \d+$/;

const sum = z.object({ objectCount: z.number(), bytes: z.number() });
/** How many objects, and their bytes. */
export type Sum = Frozen<z.output<typeof sum>>;

/** What somebody asked for, who has scanned a clone. */
const run = z.object({
  id: z.string(),
  requestedAtMs: z.number(),
  /** Objects to which some commit points. */
  reachableCount: z.number(),
  /** Of the reachable set's file. */
  reachableSha256: z.string(),
  isDryRun: z.boolean(),
  /** Delete, though it is more than half of the bytes. */
  isForced: z.boolean(),
  /** What was stored within this time is kept. */
  minAgeMs: z.number(),
  /** By which the clone's history was cut: `DAYS/VERSIONS`. Absent: it wasn't, or an older version asked. */
  rule: z.string().optional(),
});
export type GcRun = Frozen<z.output<typeof run>>;

/** What a run found. */
const selection = z.object({
  /** Its candidates lie in as many files of this folder. */
  folder: z.string(),
  files: z.number(),
  /** When the choice began. What was read of the batches since the watch was opened, was read after this. */
  seenAtMs: z.number(),
  /** When the choice ended: its candidates may be deleted from then on. Absent: it hasn't, or an older version made it. */
  chosenAtMs: z.number().optional(),
  listed: sum,
  /** In the reachable set. */
  kept: sum,
  /** Not in the reachable set, but younger than was asked for. */
  young: sum,
  /** Neither, but named by a batch since. */
  inUse: sum,
  /** None of these, but uploaded so recently that a URL might store it again until `untilMs`. Omitted: none. */
  reserved: sum.extend({ untilMs: z.number() }).optional(),
  candidates: sum,
  /** The largest candidates. */
  largest: z.array(z.object({ oid: z.string(), sizeBytes: z.number() })),
});
export type Selection = Frozen<z.output<typeof selection>>;

/** How far the deleting is: the next candidate is this line of this file. */
const progress = z.object({ file: z.number(), line: z.number(), deleted: sum });
export type GcProgress = Frozen<z.output<typeof progress>>;

/** Why a run ended without deleting anything, or anything more. The watch stays open, and another run may begin. */
const failure = z.object({
  reason: z.enum(['no-reachable-set', 'too-much', 'too-many-names', 'no-candidates']),
  message: z.string(),
});
export type GcFailure = Frozen<z.output<typeof failure>>;

/** A gc run of one repo, from its watch to its end, as it is stored. A repo has one at a time. */
export const gcSchema = z.object({
  repo: z.string(),
  watch: watchSchema,
  /**
   * `watching`: batches note what they name, and somebody may ask for a run. `selecting`: a run looks for candidates.
   * `deleting`: they are deleted. The others are ends.
   */
  state: z.enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired']),
  /** Counts the writes of this record. */
  version: z.number(),
  run: run.nullable(),
  /** While candidates are chosen, from the second step on. Older versions choose all at once, and begin anew where this is. */
  selecting: z
    .object({
      /** What was found so far. */
      found: selection,
      /** For each first digit: the last name that was listed. Empty: none yet. null: all. */
      after: z.array(z.string().nullable()),
      /** When the last step ended. */
      atMs: z.number(),
    })
    .optional(),
  selection: selection.nullable(),
  failure: failure.nullable(),
  progress,
  /**
   * What may lie, or still land, at {@link reachableSetKey}: of the largest reachable set that a URL was signed for. No PUT of
   * one can land after `untilMs`. Absent: nothing, or an older version signed it.
   */
  set: z.object({ bytes: z.number(), untilMs: z.number() }).optional(),
  /** When somebody has to look at it, though no message says so. null: never again. */
  dueAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
});
export type Gc = Frozen<z.output<typeof gcSchema>>;

const nothing: Sum = { objectCount: 0, bytes: 0 };

const noProgress: GcProgress = { file: 0, line: 0, deleted: nothing };

/** Longest time from one look at a run to the next, if messages get lost. */
const lookAgainMs = 60_000;

/** @param input.set of the watch before, of which one can still land. */
export function newGc({ repo, watch, set }: Pick<Gc, 'repo' | 'watch' | 'set'>): Gc {
  return {
    repo,
    watch,
    set,
    state: 'watching',
    version: 1,
    run: null,
    selection: null,
    failure: null,
    progress: noProgress,
    dueAtMs: watch.untilMs,
    endedAtMs: null,
  };
}

/** Whether it has not ended. */
export function isUnderWay({ state }: Pick<Gc, 'state'>): boolean {
  return state === 'watching' || state === 'selecting' || state === 'deleting';
}

/** From when on a snapshot of the clone may be taken. */
export function snapshotFromMs({ watch }: Pick<Gc, 'watch'>, { gcWatchMs }: WatchTimes): number {
  return watch.openedAtMs + gcWatchMs;
}

interface WatchTimes {
  readonly gcWatchMs: number;
}

/** With a URL for a reachable set. What was signed before may still land. */
export function withSet(gc: Gc, { bytes, untilMs }: NonNullable<Gc['set']>): Gc {
  const { bytes: before = 0, untilMs: beforeMs = 0 } = gc.set ?? {};
  return { ...gc, set: { bytes: Math.max(bytes, before), untilMs: Math.max(untilMs, beforeMs) } };
}

/** With a run that is to look for candidates. */
export function withRun(gc: Gc, run: GcRun): Gc {
  return {
    ...gc,
    state: 'selecting',
    run,
    selecting: undefined,
    selection: null,
    failure: null,
    progress: noProgress,
    dueAtMs: run.requestedAtMs,
  };
}

/** With a further step of the choice. @param step.dueAtMs when the next one may be made. */
export function withStep(
  gc: Gc,
  { selecting, dueAtMs }: { selecting: NonNullable<Gc['selecting']>; dueAtMs: number },
): Gc {
  return { ...gc, selecting, dueAtMs };
}

/** With what its run found. A dry run ends here. */
export function withSelection(
  chosen: Gc,
  { selection: found, nowMs }: { selection: Selection; nowMs: number },
): Gc {
  const gc = { ...chosen, selecting: undefined };
  const selection = { ...found, chosenAtMs: nowMs };
  const { run, watch } = gc;
  if (run?.isDryRun !== false) return { ...gc, state: 'watching', selection, dueAtMs: watch.untilMs };
  const failure = run.isForced ? undefined : tooMuch(selection);
  if (failure) return { ...withFailure(gc, failure), selection };
  return { ...gc, state: 'deleting', selection, dueAtMs: nowMs };
}

/** Half of what a repo has is rarely what nobody needs: more likely the clone is not the whole of it. */
export function isTooMuch({ candidates, listed }: Selection): boolean {
  return 2 * candidates.bytes > listed.bytes;
}

function tooMuch(selection: Selection): GcFailure | undefined {
  if (!isTooMuch(selection)) return undefined;
  const { candidates, listed } = selection;
  const message = `${candidates.bytes} of ${listed.bytes} bytes would be deleted, more than half. If the clone has all refs of all repos that use these objects, run it again with --force.`;
  return { reason: 'too-much', message };
}

/** What batches have named does not fit into one set. */
export const tooManyNames: GcFailure = {
  reason: 'too-many-names',
  message: 'Too much was pushed since it was opened. Cancel it, and open another.',
};

/** A run that ended without deleting anything, or anything more. */
export function withFailure(gc: Gc, failure: GcFailure): Gc {
  return { ...gc, state: 'watching', selecting: undefined, failure, dueAtMs: gc.watch.untilMs };
}

/** Somebody works on it now, and looks again if nothing moves. */
export function lookedAt(gc: Gc, { nowMs }: { nowMs: number }): Gc {
  return { ...gc, dueAtMs: nowMs + lookAgainMs };
}

/** After it has ended, its files are still to be removed, and its watch to be closed. */
export function endedGc(
  gc: Gc,
  { state, nowMs }: { state: 'done' | 'cancelled' | 'expired'; nowMs: number },
): Gc {
  return { ...gc, state, endedAtMs: nowMs, dueAtMs: nowMs };
}

/** Whether its files were removed after its end, and only a reachable set can still land. */
export function isTidied({ state, endedAtMs, dueAtMs }: Gc): boolean {
  return !isUnderWay({ state }) && dueAtMs !== endedAtMs;
}

/** After its files were removed. Once no reachable set can land any more, nothing is left to be done for it. */
export function tidiedGc(gc: Gc, { nowMs }: { nowMs: number }): Gc {
  const { set, ...rest } = gc;
  return set && nowMs <= set.untilMs ? { ...gc, dueAtMs: set.untilMs + 1 } : { ...rest, dueAtMs: null };
}

export function plus(sum: Sum, more: Sum): Sum {
  return { objectCount: sum.objectCount + more.objectCount, bytes: sum.bytes + more.bytes };
}
