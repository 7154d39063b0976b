import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { formatObjects } from '../render.ts';
import { CheckpointFile, ReplacedFileError } from './checkpoint.ts';
import {
  countBelow,
  countOf,
  type DuCount,
  type DuProgress,
  type DuTarget,
  unfinishedBelow,
} from './count.ts';
import type { ProgressLine } from './report.ts';
import { explainStoreError } from './store-errors.ts';
import type { Unfinished } from './unfinished.ts';

/** The line is redrawn so often, although no page arrives. */
const redrawMs = 1_000;

interface RunInput {
  readonly context: CliContext;
  readonly line: ProgressLine;
  readonly print: (count: DuCount, unfinished?: Unfinished) => void;
  readonly saving: Saving | undefined;
}

/**
 * Counts, with a file in as many processes as it takes, and prints the result.
 *
 * @throws {CliError} when it was stopped, or cannot go on. With a file, what was counted is saved then.
 */
export async function runDu(target: DuTarget, input: RunInput): Promise<void> {
  const { context, saving } = input;
  const file = saving && (await CheckpointFile.open(saving.name, target.scan));
  try {
    const found = file?.found;
    if (found?.rest === null) {
      await printAll(target, countOf(found), input);
      context.err(
        `${saving?.name} is finished: this was scanned on ${new Date(found.savedMs).toISOString()}. ` +
          'Delete the file to scan again.\n',
      );
      return;
    }
    if (found !== undefined)
      context.err(`Resuming after ${formatObjects(found.objects)}, from ${saving?.name}.\n`);
    await count(target, { ...input, file });
  } finally {
    await file?.close();
  }
}

/** @throws {CliError} after the rest, when unfinished uploads can't be counted. */
async function printAll(target: DuTarget, count: DuCount, { print }: RunInput): Promise<void> {
  if (!target.scan.all) return print(count);
  let unfinished: Unfinished;
  try {
    unfinished = await unfinishedBelow(target);
  } catch (error) {
    print(count);
    const explained = explainStoreError(error, placeOf(target));
    if (!(explained instanceof CliError)) throw explained;
    const needed = 's3:ListBucketMultipartUploads and s3:ListMultipartUploadParts';
    throw new CliError(`Unfinished uploads weren't counted. ${explained.message}`, {
      hint: `They need ${needed}.`,
      failure: explained.failure,
      cause: error,
    });
  }
  print(count, unfinished);
}

async function count(
  target: DuTarget,
  input: RunInput & { file: CheckpointFile | undefined },
): Promise<void> {
  const { context, line, saving, file } = input;
  const goOn = `Resume: ${saving?.command}`;
  const stop = new AbortController();
  const everyMs = saving?.everyMs ?? 0;
  const onFailure = failureHandler(context, stop);
  const release =
    file &&
    context.onInterrupt?.(() => {
      line.clear();
      context.err('Stopping: waiting for requests in flight. Press Ctrl-C again to stop immediately.\n');
      stop.abort();
    });
  try {
    const { isDone, count } = await showing(line, (onProgress) =>
      countBelow({
        target,
        found: file?.found,
        stop: stop.signal,
        nowMs: context.nowMs,
        onBegin: (checkpoint) => file?.begin(checkpoint, { everyMs, onFailure }),
        onProgress,
        onWarning: (sentence) => {
          line.clear();
          context.err(`warning: ${sentence}\n`);
        },
      }),
    );
    if (isDone) await printAll(target, count, input);
    await file?.end();
    if (isDone) return;
    const message = `Stopped after ${formatObjects(count.objects)}.`;
    throw new CliError(message, { hint: goOn, failure: 'interrupted' });
  } catch (error) {
    throw await explainEnd(error, { target, file, goOn });
  } finally {
    release?.();
  }
}

/** What becomes of a failure to save: if another process has written the file, this one ends. */
function failureHandler(context: CliContext, stop: AbortController): (error: unknown) => void {
  let hasWarned = false;
  return (error) => {
    if (error instanceof ReplacedFileError) stop.abort();
    else if (!hasWarned && error instanceof Error) {
      hasWarned = true;
      context.err(`\nwarning: ${error.message} The scan continues, and retries it.\n`);
    }
  };
}

const placeOf = ({ scan, region }: DuTarget) => ({
  bucket: scan.bucket,
  endpoint: scan.endpoint ?? undefined,
  region,
  slower: '--concurrency 8',
  ...(scan.all && { permission: 's3:ListBucketVersions' }),
});

/** The error to show when a count has ended early. */
async function explainEnd(
  error: unknown,
  { target, file, goOn }: { target: DuTarget; file: CheckpointFile | undefined; goOn: string },
): Promise<unknown> {
  const explained = explainStoreError(error, placeOf(target));
  if (file === undefined || !(explained instanceof CliError) || explained === error) return explained;
  const { message, hint, ...kept } = explained;
  try {
    if (!(await file.end())) return explained;
  } catch (failure) {
    if (failure instanceof CliError)
      return new CliError(`${message} ${failure.message}`, { hint: `${hint} ${goOn}`, ...kept });
    throw failure;
  }
  return new CliError(message, { hint: `${hint}\nProgress is saved. ${goOn}`, ...kept });
}

async function showing<T>(
  line: ProgressLine,
  work: (onProgress: (progressOf: () => DuProgress) => void) => Promise<T>,
): Promise<T> {
  let latest: (() => DuProgress) | undefined;
  const timer = setInterval(() => latest && line.show(latest), redrawMs);
  try {
    return await work((progressOf) => {
      latest = progressOf;
      line.show(progressOf);
    });
  } finally {
    clearInterval(timer);
    line.clear();
  }
}

/** How a count is saved. */
export interface Saving {
  /** The file. */
  readonly name: string;
  readonly everyMs: number;
  /** The command that goes on with it. */
  readonly command: string;
}
