import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { formatObjects } from '../render.ts';
import type { Checkpoint } from './checkpoint.ts';
import { CheckpointFile } from './checkpoint-file.ts';
import { countBelow, type DuProgress, type DuTarget } from './count-below.ts';
import { commandOf, type DuOptions } from './options.ts';
import type { ProgressLine } from './progress-line.ts';
import { Saver } from './saver.ts';
import { explainStoreError } from './store-errors.ts';
import { countOf, type DuCount } from './tally.ts';

/** The line is redrawn so often, although no page arrives. */
const redrawMs = 1_000;

interface Surroundings {
  readonly context: CliContext;
  readonly line: ProgressLine;
}

/** Counts in one go. @throws {CliError} when the store refuses or does not answer. */
export async function countOnce(target: DuTarget, { context, line }: Surroundings): Promise<DuCount> {
  const { signal } = new AbortController();
  const { isDone, count } = await showing(line, (onProgress) =>
    countBelow({ target, stop: signal, nowMs: context.nowMs, onBegin: () => {}, onProgress }),
  ).catch((error: unknown) => {
    throw explainStoreError(error, placeOf(target));
  });
  if (!isDone) throw new Error('A scan that nobody stopped ended unfinished.');
  return count;
}

/**
 * Counts with a file, in as many processes as it takes, and prints the result.
 *
 * @throws {CliError} when it was stopped, or cannot go on. What was counted is saved then.
 */
export async function countWithFile(
  target: DuTarget,
  input: Surroundings & {
    url: string;
    options: DuOptions;
    file: string;
    everyMs: number;
    print: (count: DuCount) => void;
  },
): Promise<void> {
  const { context, print } = input;
  const file = await CheckpointFile.open(input.file, target.scan);
  const goOn = `Go on with \`${commandOf(input.url, input.options)}\`.`;
  try {
    const { found } = file;
    if (found !== undefined && found.rest === null) {
      print(countOf(found));
      context.err(
        `${input.file} is finished: this was counted on ${new Date(found.savedMs).toISOString()}. ` +
          'Delete the file to count again.\n',
      );
      return;
    }
    if (found !== undefined)
      context.err(`Going on after ${formatObjects(found.objects)}, as ${input.file} has it.\n`);
    await countAndSave(target, { ...input, file, found, goOn });
  } finally {
    await file.close();
  }
}

async function countAndSave(
  target: DuTarget,
  input: Surroundings & {
    file: CheckpointFile;
    found: Checkpoint | undefined;
    everyMs: number;
    goOn: string;
    print: (count: DuCount) => void;
  },
): Promise<void> {
  const { context, line, file, found, everyMs, goOn } = input;
  const stop = new AbortController();
  const saver = new Saver({ file, context, everyMs, onReplaced: (error) => stop.abort(error) });
  const release = context.onInterrupt?.(() => {
    line.clear();
    context.err('Stopping: waiting for what is on its way. Interrupt again to stop at once.\n');
    saver.saveSoon();
    stop.abort();
  });
  const onBegin = (checkpoint: () => Checkpoint | undefined) => saver.begin(checkpoint);
  try {
    const { isDone, count } = await showing(line, (onProgress) =>
      countBelow({ target, found, stop: stop.signal, nowMs: context.nowMs, onBegin, onProgress }),
    );
    const saved = saver.end();
    if (isDone) input.print(count);
    await saved;
    if (!isDone)
      throw new CliError(`Stopped after ${formatObjects(count.objects)}.`, {
        hint: goOn,
        failure: 'interrupted',
      });
  } catch (error) {
    throw await explainEnd(error, { target, saver, goOn });
  } finally {
    release?.();
    saver.stop();
  }
}

/** The error to show when a count with a file has ended early. */
async function explainEnd(
  error: unknown,
  { target, saver, goOn }: { target: DuTarget; saver: Saver; goOn: string },
): Promise<unknown> {
  const explained = explainStoreError(error, placeOf(target));
  if (!(explained instanceof CliError) || explained === error) return explained;
  const { message, hint = '', cause } = explained;
  try {
    await saver.end();
  } catch (failure) {
    if (failure instanceof CliError)
      return new CliError(`${message} ${failure.message}`, { hint: `${hint} ${goOn}`, cause });
    throw failure;
  }
  return new CliError(message, { hint: `${hint}\nWhat was counted is saved. ${goOn}`, cause });
}

async function showing<T>(
  line: ProgressLine,
  count: (onProgress: (progressOf: () => DuProgress) => void) => Promise<T>,
): Promise<T> {
  let latest: (() => DuProgress) | undefined;
  const timer = setInterval(() => latest && line.show(latest), redrawMs);
  try {
    return await count((progressOf) => {
      latest = progressOf;
      line.show(progressOf);
    });
  } finally {
    clearInterval(timer);
    line.clear();
  }
}

function placeOf({ scan, region }: DuTarget) {
  return { bucket: scan.bucket, endpoint: scan.endpoint ?? undefined, region };
}
