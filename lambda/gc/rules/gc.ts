import type { Watch } from './watch.ts';

/**
 * Where the files of a clean-up lie. No tenant's name begins with an underscore, so no listing of a tenant, and no event of
 * the store about a tenant, ever sees them.
 */

/** The first segment of every key. Lifecycle rules and grants name it. */
export const cleanupFolder = '_gc';

interface CleanupPath {
  readonly tenant: string;
  readonly watchId: string;
}

/** The prefix of all keys of a clean-up, with its closing slash. */
function cleanupPrefix({ tenant, watchId }: CleanupPath): string {
  return `${cleanupFolder}/${tenant}/${watchId}/`;
}

/** What is needed, as the clone says. Its name is its content, so it never changes. */
export function keepSetKey(path: CleanupPath, sha256: string): string {
  return `${cleanupPrefix(path)}keep-${sha256}`;
}

/** A file of candidates: `candidates.ts` says how. */
export function candidatesKey(path: CleanupPath, { folder, file }: { folder: string; file: number }): string {
  return `${cleanupPrefix(path)}${folder}/candidates-${file}.txt`;
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

/** How many objects, and their bytes. */
export interface Sum {
  readonly objectCount: number;
  readonly bytes: number;
}

/**
 * `watching`: batches note what they name, and somebody may ask for a run. `selecting`: a run looks for candidates.
 * `deleting`: they are deleted. The others are ends.
 */
type CleanupState = 'watching' | 'selecting' | 'deleting' | 'done' | 'cancelled' | 'expired';

/** What somebody asked for, who has scanned a clone. */
export interface CleanupRun {
  readonly id: string;
  readonly requestedAtMs: number;
  /** Objects to which some commit points. */
  readonly keepCount: number;
  /** Of the keep-set's file. */
  readonly keepSha256: string;
  readonly isDryRun: boolean;
  /** Delete, though it is more than half of the bytes. */
  readonly isForced: boolean;
  /** What was stored within this time is kept. */
  readonly minAgeMs: number;
}

/** What a run found. */
export interface Selection {
  /** Its candidates lie in as many files of this folder. */
  readonly folder: string;
  readonly files: number;
  /** When the choice began. What was read of the batches since the watch was opened, was read after this. */
  readonly seenAtMs: number;
  /** When the choice ended: its candidates may be deleted from then on. Absent: it hasn't, or an older version made it. */
  readonly chosenAtMs?: number | undefined;
  readonly listed: Sum;
  /** In the keep-set. */
  readonly kept: Sum;
  /** Not in the keep-set, but younger than was asked for. */
  readonly young: Sum;
  /** Neither, but named by a batch since. */
  readonly inUse: Sum;
  /** None of these, but uploaded so recently that a URL might store it again until `untilMs`. Omitted: none. */
  readonly reserved?: (Sum & { readonly untilMs: number }) | undefined;
  readonly candidates: Sum;
  /** The largest candidates. */
  readonly largest: readonly { readonly oid: string; readonly sizeBytes: number }[];
}

/** How far the choice of candidates is. */
interface SelectionProgress {
  /** What was found so far. */
  readonly found: Selection;
  /** For each first digit: the last name that was listed. Empty: none yet. null: all. */
  readonly after: readonly (string | null)[];
  /** When the last step ended. */
  readonly atMs: number;
}

/** How far the deleting is: the next candidate is this line of this file. */
export interface CleanupProgress {
  readonly file: number;
  readonly line: number;
  readonly deleted: Sum;
}

/** Why a run ended without deleting anything, or anything more. The watch stays open, and another run may begin. */
export interface CleanupFailure {
  readonly reason: 'no-keep-set' | 'too-much' | 'too-many-names' | 'no-candidates';
  readonly message: string;
}

/** A clean-up of one repo, from its watch to its end. A repo has one at a time. */
export interface Cleanup {
  readonly repo: string;
  readonly watch: Watch;
  readonly state: CleanupState;
  /** Counts the writes of this record. */
  readonly version: number;
  readonly run: CleanupRun | null;
  /** While candidates are chosen, from the second step on. */
  readonly selecting?: SelectionProgress | undefined;
  readonly selection: Selection | null;
  readonly failure: CleanupFailure | null;
  readonly progress: CleanupProgress;
  /** When somebody has to look at it, though no message says so. null: never again. */
  readonly dueAtMs: number | null;
  readonly endedAtMs: number | null;
}

const nothing: Sum = { objectCount: 0, bytes: 0 };

const noProgress: CleanupProgress = { file: 0, line: 0, deleted: nothing };

/** Longest time from one look at a run to the next, if messages get lost. */
const lookAgainMs = 60_000;

export function newCleanup({ repo, watch }: { repo: string; watch: Watch }): Cleanup {
  return {
    repo,
    watch,
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
export function isUnderWay({ state }: Pick<Cleanup, 'state'>): boolean {
  return state === 'watching' || state === 'selecting' || state === 'deleting';
}

/** From when on a snapshot of the clone may be taken. */
export function snapshotFromMs({ watch }: Pick<Cleanup, 'watch'>, { cleanupWatchMs }: WatchTimes): number {
  return watch.openedAtMs + cleanupWatchMs;
}

interface WatchTimes {
  readonly cleanupWatchMs: number;
}

/** With a run that is to look for candidates. */
export function withRun(cleanup: Cleanup, run: CleanupRun): Cleanup {
  return {
    ...cleanup,
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
  cleanup: Cleanup,
  { selecting, dueAtMs }: { selecting: SelectionProgress; dueAtMs: number },
): Cleanup {
  return { ...cleanup, selecting, dueAtMs };
}

/** With what its run found. A dry run ends here. */
export function withSelection(
  chosen: Cleanup,
  { selection: found, nowMs }: { selection: Selection; nowMs: number },
): Cleanup {
  const cleanup = { ...chosen, selecting: undefined };
  const selection = { ...found, chosenAtMs: nowMs };
  const { run, watch } = cleanup;
  if (run?.isDryRun !== false) return { ...cleanup, state: 'watching', selection, dueAtMs: watch.untilMs };
  const failure = run.isForced ? undefined : tooMuch(selection);
  if (failure) return { ...withFailure(cleanup, failure), selection };
  return { ...cleanup, state: 'deleting', selection, dueAtMs: nowMs };
}

/** Half of what a repo has is rarely what nobody needs: more likely the clone is not the whole of it. */
export function isTooMuch({ candidates, listed }: Selection): boolean {
  return 2 * candidates.bytes > listed.bytes;
}

function tooMuch(selection: Selection): CleanupFailure | undefined {
  if (!isTooMuch(selection)) return undefined;
  const { candidates, listed } = selection;
  const message = `${candidates.bytes} of ${listed.bytes} bytes would be deleted, more than half. If the clone has all refs of all repos that use these objects, run it again with --force.`;
  return { reason: 'too-much', message };
}

/** What batches have named does not fit into one set. */
export const tooManyNames: CleanupFailure = {
  reason: 'too-many-names',
  message: 'Too much was pushed since it was opened. Cancel it, and open another.',
};

/** A run that ended without deleting anything, or anything more. */
export function withFailure(cleanup: Cleanup, failure: CleanupFailure): Cleanup {
  return { ...cleanup, state: 'watching', selecting: undefined, failure, dueAtMs: cleanup.watch.untilMs };
}

/** Somebody works on it now, and looks again if nothing moves. */
export function lookedAt(cleanup: Cleanup, { nowMs }: { nowMs: number }): Cleanup {
  return { ...cleanup, dueAtMs: nowMs + lookAgainMs };
}

/** After it has ended, its files are still to be removed, and its watch to be closed. */
export function endedCleanup(
  cleanup: Cleanup,
  { state, nowMs }: { state: 'done' | 'cancelled' | 'expired'; nowMs: number },
): Cleanup {
  return { ...cleanup, state, endedAtMs: nowMs, dueAtMs: nowMs };
}

/** Nothing is left to be done for it. */
export function tidiedCleanup(cleanup: Cleanup): Cleanup {
  return { ...cleanup, dueAtMs: null };
}

export function plus(sum: Sum, more: Sum): Sum {
  return { objectCount: sum.objectCount + more.objectCount, bytes: sum.bytes + more.bytes };
}
