import { once } from 'node:events';
import { forEachLimited } from '../../lambda/core/rules/async.ts';
import { systemClock } from '../../lambda/frame/aws/clock-and-ids.ts';
import { type Check, check, type Outcome, warning } from './check.ts';
import { fileChecks } from './file-checks.ts';
import { listingChecks } from './listing-checks.ts';
import { consistencyChecks, largeChecks } from './object-checks.ts';
import { deleteMsMax, Probe, type ProbeTarget } from './probe.ts';
import type { StoreFacts } from './profile.ts';
import { accessChecks, refusalChecks, uploadChecks } from './upload-checks.ts';

/** The table, in the order in which the checks are made: each group may use what those before it wrote. */
const checkGroups = {
  access: accessChecks,
  uploads: uploadChecks,
  refusals: refusalChecks,
  listings: listingChecks,
  consistency: consistencyChecks,
  large: largeChecks,
  anyFiles: fileChecks,
  traffic: [
    check(
      'throttling',
      'Raise its limit, or lower protocol.scanConcurrency: retries are slow.',
      async (probe) => {
        const { requests, throttled } = probe.traffic;
        if (throttled === 0) return `None of ${requests} requests was answered with 503 or 429.`;
        return warning(`${throttled} of ${requests} requests were answered with 503 or 429.`);
      },
    ),
  ],
} as const satisfies Readonly<Record<string, readonly Check[]>>;

/** Without one of these no other check can work: if it fails, those that follow are skipped. */
const essential: ReadonlySet<string> = new Set(['credentials', 'bucket', 'upload']);
/** The service does not need these today: one that cannot be made is a warning. */
const optional: ReadonlySet<string> = new Set([
  'list-unicode-pages',
  ...[...largeChecks, ...fileChecks].map(({ id }) => id),
]);

export type CheckGroup = keyof typeof checkGroups;

export interface CheckResult {
  readonly id: string;
  readonly outcome: Outcome;
  readonly detail: string;
  /** What to do. Given with `fail` and `warning`. */
  readonly advice?: string;
}

export interface Examination {
  readonly results: readonly CheckResult[];
  readonly holds: StoreFacts;
  /** Requests that the store answered, without those of the cleanup. */
  readonly requests: number;
  /** Keys that the cleanup could not delete. */
  readonly left: readonly string[];
  /** The signal aborted before all checks were made. */
  readonly isInterrupted: boolean;
}

/** How long a store may take to notice that an interrupt cut an upload: the cleanup waits for it. */
const interruptedMs = 1_000;
/** Pages of 1,000 keys that one pass of the cleanup lists. */
const cleanupPagesMax = 20;
/** A cleanup looks again, because a cut upload may land late. */
const cleanupPassesMax = 3;

/**
 * Makes the checks, one after the other, and cleans up, whatever happens.
 *
 * @param input.onResult called after each check that was made; not for those that an essential one lets skip.
 * @param input.groups all by default.
 */
export async function examine(
  target: ProbeTarget,
  input: {
    signal: AbortSignal;
    onResult: (result: CheckResult) => void;
    groups?: readonly CheckGroup[];
  },
): Promise<Examination> {
  const { signal, onResult, groups = Object.keys(checkGroups) as CheckGroup[] } = input;
  const probe = new Probe(target, signal);
  const results: CheckResult[] = [];
  const add = (result: CheckResult) => {
    results.push(result);
    onResult(result);
  };
  let blockedBy: string | undefined;
  const aborted = once(signal, 'abort').then(() => undefined);
  const cleaner = new Probe(target, new AbortController().signal);
  try {
    for (const row of groups.flatMap((group): readonly Check[] => checkGroups[group])) {
      if (blockedBy !== undefined) {
        results.push({ id: row.id, outcome: 'skipped', detail: `Needs ${blockedBy}, which failed.` });
        continue;
      }
      // What the store does with a request that is on its way is left to the cleanup.
      const result = signal.aborted ? undefined : await Promise.race([make(row, probe), aborted]);
      if (result === undefined || signal.aborted) break;
      if (result.outcome === 'fail' && essential.has(row.id)) blockedBy = row.id;
      add(result);
    }
    // Otherwise an upload in progress would arrive after the cleanup.
    if (signal.aborted && probe.written.size > 0) await systemClock.sleep(interruptedMs);
    const { left, result } = await cleanUp(cleaner, probe);
    add(result);
    const { requests } = probe.traffic;
    return { results, holds: holdsOf(results, probe), requests, left, isInterrupted: signal.aborted };
  } finally {
    probe.destroy();
    cleaner.destroy();
  }
}

/** An error that no check expects is a finding as well: the store did not do what it was asked to. */
async function make({ id, advice, ask }: Check, probe: Probe): Promise<CheckResult> {
  try {
    const found = await ask(probe);
    if (typeof found === 'string') return { id, outcome: 'pass', detail: found };
    return { id, ...(found.outcome !== 'skipped' && { advice }), ...found };
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const detail = `The check couldn't run: ${error.message}`;
    const outcome = optional.has(id) ? 'warning' : 'fail';
    return {
      id,
      outcome,
      detail,
      advice: "Run it again. If it fails again, the store doesn't behave like S3.",
    };
  }
}

/** What the profile says of the store. */
function holdsOf(results: readonly CheckResult[], { facts }: Probe): StoreFacts {
  const outcomes = new Map(results.map(({ id, outcome }) => [id, outcome]));
  /** undefined: it was not looked for. */
  const passed = (id: string) => {
    const outcome = outcomes.get(id) ?? 'skipped';
    return outcome === 'skipped' ? undefined : outcome === 'pass';
  };
  const choose = <T>(id: string, good: T, bad: T) =>
    passed(id) === undefined ? null : passed(id) ? good : bad;
  // With a warning nothing was stored either.
  const refused = (id: string) => choose(id, true, outcomes.get(id) === 'warning');
  return {
    ...facts,
    checksumEnforced: refused('other-bytes'),
    lengthEnforced: refused('wrong-length'),
    startAfter: choose('list-start-after', passed('list-start-outside') ? 'exact' : 'inside-prefix', 'wrong'),
    listOrder: choose('list-order', passed('list-unicode') ? 'utf8' : 'ascii', 'other'),
    listConsistency: choose(
      'list-after-put',
      passed('list-after-delete') ? 'strong' : 'eventual',
      'eventual',
    ),
    partRules: {
      multipart: choose('multipart', true, false),
      uploadPartCopy: choose('copy-part', true, false),
    },
  };
}

/**
 * Deletes all that a run wrote, and what else is below its prefix. It looks again afterwards. Never rejects.
 *
 * @param probe of the cleanup alone: an abort stops that of the checks.
 */
async function cleanUp(
  probe: Probe,
  { written, partUploads }: Pick<Probe, 'written' | 'partUploads'>,
): Promise<{ left: readonly string[]; result: CheckResult }> {
  const uploadsLeft = await abortPartUploads(probe, partUploads);
  let left: readonly string[] = [...written];
  let error: unknown;
  try {
    for (let passes = 0; left.length > 0 && passes < cleanupPassesMax; passes += 1) {
      const keys = passes === 0 ? new Set([...(await listOwn(probe)), ...left]) : left;
      error = undefined;
      await forEachLimited(keys, 16, (key) =>
        probe.delete(key).catch((thrown: unknown) => {
          error = thrown;
        }),
      );
      left = await listOwn(probe);
    }
  } catch (thrown) {
    error = thrown;
  }
  const id = 'cleanup';
  if (left.length === 0 && uploadsLeft === 0)
    return { left, result: { id, outcome: 'pass', detail: 'This run left nothing in the bucket.' } };
  const { bucket, prefix, endpoint } = probe.target;
  const what = [
    ...(left.length > 0 ? [`${left.length} objects below ${prefix}`] : []),
    ...(uploadsLeft > 0 ? [`${uploadsLeft} unfinished multipart uploads`] : []),
  ].join(' and ');
  const why = left.length > 0 && error instanceof Error ? `: ${error.message}` : '.';
  const detail = `Left in the bucket: ${what}${why}`;
  const at = endpoint === undefined ? '' : ` --endpoint-url ${endpoint}`;
  const advice = `Delete them: aws s3 rm --recursive s3://${bucket}/${prefix}${at}`;
  return { left, result: { id, outcome: 'warning', detail, advice } };
}

/** What is below the prefix. A store that ignores prefixes would name the objects of others. */
async function listOwn(probe: Probe): Promise<string[]> {
  const { prefix } = probe.target;
  const { pages } = await probe.listAll({ prefix }, cleanupPagesMax);
  const keys = pages.flat().map(({ key }) => key);
  return keys.filter((key) => key.startsWith(prefix));
}

/** Ends the uploads that were not completed. @returns how many could not be ended. */
async function abortPartUploads({ archives }: Probe, partUploads: Probe['partUploads']): Promise<number> {
  let failed = 0;
  for (const upload of partUploads) {
    const late = once(AbortSignal.timeout(deleteMsMax), 'abort').then(() =>
      Promise.reject(new Error('late')),
    );
    await Promise.race([archives.abort(upload), late]).catch(() => {
      failed += 1;
    });
  }
  return failed;
}
