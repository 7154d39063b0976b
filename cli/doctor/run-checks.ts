import { systemClock } from '../../lambda/adapters/system/clock.ts';
import { accessChecks } from './access-checks.ts';
import { type Check, type CheckResult, type Finding, fail, pass, skip, warn } from './check.ts';
import { type Cleanup, cleanUp } from './cleanup.ts';
import { consistencyChecks } from './consistency-checks.ts';
import { interruptedMs } from './limits.ts';
import { listingChecks } from './listing-checks.ts';
import { multipartChecks } from './multipart-checks.ts';
import { pageChecks } from './page-checks.ts';
import { Probe, type ProbeTarget } from './probe.ts';
import { type StoreFacts, unknownFacts, withFacts } from './profile.ts';
import { refusalChecks } from './refusal-checks.ts';
import { sizeChecks } from './size-checks.ts';
import { uploadChecks } from './upload-checks.ts';

/** In the order in which they are made: each group may use what those before it wrote. */
const checkGroups = {
  access: accessChecks,
  uploads: uploadChecks,
  refusals: refusalChecks,
  listings: [...listingChecks, ...pageChecks],
  consistency: consistencyChecks,
  large: [...sizeChecks, ...multipartChecks],
  traffic: [{ id: 'throttling', run: judgeTraffic }],
} as const satisfies Readonly<Record<string, readonly Check[]>>;

export type CheckGroup = keyof typeof checkGroups;

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
  const add = (id: string, { outcome, detail, advice }: Finding) => {
    const result = { id, outcome, detail, ...(advice !== undefined && { advice }) };
    results.push(result);
    return result;
  };
  let holds = unknownFacts;
  let blockedBy: string | undefined;
  try {
    for (const check of groups.flatMap((group): readonly Check[] => checkGroups[group])) {
      if (blockedBy !== undefined) {
        add(check.id, skip(`Needs ${blockedBy}, which failed.`));
        continue;
      }
      const finding = await make(check, probe);
      if (signal.aborted) break;
      if (finding.outcome === 'fail' && check.isEssential === true) blockedBy = check.id;
      holds = withFacts(holds, finding.facts ?? {});
      onResult(add(check.id, finding));
    }
    const { requests } = probe.traffic;
    // Otherwise an upload in progress would arrive after the cleanup.
    if (signal.aborted && probe.written.size > 0) await systemClock.sleep(interruptedMs);
    probe.outliveAbort();
    const cleanup = await cleanUp(probe);
    onResult(add('cleanup', judgeCleanup(cleanup, target)));
    return { results, holds, requests, left: cleanup.left, isInterrupted: signal.aborted };
  } finally {
    probe.destroy();
  }
}

/** An error that no check expects is a finding as well: the store did not do what it was asked to. */
async function make(check: Check, probe: Probe): Promise<Finding> {
  try {
    return await check.run(probe);
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const detail = `The check could not be made: ${error.message}`;
    const advice = 'Run it again. If that repeats, the store does not answer as S3 does.';
    return check.isOptional === true ? warn(detail, advice) : fail(detail, advice);
  }
}

async function judgeTraffic(probe: Probe): Promise<Finding> {
  const { requests, throttled } = probe.traffic;
  if (throttled === 0) return pass(`None of ${requests} requests was answered with 503 or 429.`);
  return warn(
    `${throttled} of ${requests} requests were answered with 503 or 429.`,
    'The service retries, but slowly. Raise the limit of the store, or lower protocol.scanConcurrency.',
  );
}

function judgeCleanup(
  { left, uploadsLeft, error }: Cleanup,
  { bucket, prefix, endpoint }: ProbeTarget,
): Finding {
  if (left.length === 0 && uploadsLeft === 0) return pass('Nothing of this run is left in the bucket.');
  const why = error instanceof Error ? `: ${error.message}` : '.';
  const what = [
    ...(left.length > 0 ? [`${left.length} objects below ${prefix}`] : []),
    ...(uploadsLeft > 0 ? [`${uploadsLeft} unfinished multipart uploads`] : []),
  ].join(' and ');
  const at = endpoint === undefined ? '' : ` --endpoint-url ${endpoint}`;
  return warn(
    `Left in the bucket: ${what}${why}`,
    `Delete them: aws s3 rm --recursive s3://${bucket}/${prefix}${at}`,
  );
}
