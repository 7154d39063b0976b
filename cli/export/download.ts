import { existsSync, statSync } from 'node:fs';
import { type FileHandle, open, rename } from 'node:fs/promises';
import path from 'node:path';
import type { ExportBody } from '../../lambda/api/contract/exports.ts';
import { formatBytes } from '../../lambda/rules/sizes.ts';
import type { ApiAnswer, ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError, UsageError } from '../errors.ts';
import { Rate, WaitLine } from '../progress.ts';
import { formatDuration } from '../render.ts';
import {
  type Interrupt,
  listenForInterrupt,
  TransferError,
  TransferProgress,
  transferRest,
} from './transfer.ts';

const pollMs = 2000;
/** Polls in a row that fail: an export may take hours, and a connection breaks now and then. */
const failedPollsMax = 5;

const isOpen = ({ state }: Pick<ExportBody, 'state'>) =>
  state === 'planning' || state === 'hashing' || state === 'copying';

/**
 * Waits until an export has ended, and shows how far it is.
 *
 * @param wait.isQuiet show nothing.
 * @returns the export at its end. @throws {CliError} on Ctrl-C, or when the API does not answer.
 */
export async function waitForExport(
  { client, context }: { client: ApiClient; context: CliContext },
  wait: { job: ExportBody; isQuiet: boolean },
): Promise<ApiAnswer<ExportBody>> {
  const line = new WaitLine(context, wait);
  const rate = new Rate();
  const interrupt = listenForInterrupt(context);
  try {
    for (let failures = 0; ; ) {
      const answer = await poll(client, wait.job);
      if (answer instanceof CliError) {
        failures += 1;
        if (failures >= failedPollsMax) throw goesOn(wait.job, answer);
        await interrupt.sleep(pollMs);
        if (interrupt.signal.aborted) throw goesOn(wait.job);
        continue;
      }
      failures = 0;
      if (!isOpen(answer.body)) return answer;
      rate.note({ ms: context.nowMs(), done: doneBytes(answer.body) });
      line.show(line.inPlace ? progressText(answer.body, rate) : plainText(answer.body));
      await interrupt.sleep(pollMs);
      if (interrupt.signal.aborted) throw goesOn(answer.body);
    }
  } finally {
    line.clear();
    interrupt.release();
  }
}

async function poll(client: ApiClient, job: ExportBody): Promise<ApiAnswer<ExportBody> | CliError> {
  try {
    return await client.ask('getExport', { params: job });
  } catch (error) {
    if (error instanceof CliError) return error;
    throw error;
  }
}

/** @param cause why nobody waits any more, if it was not the person. */
function goesOn({ tenant, exportId }: ExportBody, cause?: CliError): CliError {
  const message =
    cause === undefined
      ? 'Stopped waiting. The export goes on without this command.'
      : `${cause.message.replace(/\.?$/, '.')} The export may go on without this command.`;
  return new CliError(message, {
    ...(cause === undefined && { failure: 'interrupted' }),
    cause,
    hint: `See how far it is with \`lfs-quota export show ${tenant} ${exportId}\`, or end it with \`lfs-quota export delete ${tenant} ${exportId}\`.`,
  });
}

const doneBytes = ({ progress }: ExportBody) =>
  progress.uploadedBytes + progress.copiedBytes + progress.hashedBytes;

/** `copying: 42.0 %, 6.3 GiB copied, 2.1 GiB uploaded of 20 GiB, 500 MiB/s, 12 s left`. */
function progressText(job: ExportBody, rate: Rate): string {
  const { state, progress, plan } = job;
  if (progress.share === null || plan === null) return `${state}: the objects are listed and planned`;
  const { perSecond } = rate;
  const hashed = progress.hashedBytes > 0 ? `${formatBytes(progress.hashedBytes)} hashed, ` : '';
  const done = doneBytes(job);
  const left =
    perSecond && progress.share > 0 ? (done * (1 - progress.share)) / progress.share / perSecond : undefined;
  return [
    `${state}: ${(progress.share * 100).toFixed(1)} %`,
    `${hashed}${formatBytes(progress.copiedBytes)} copied, ${formatBytes(progress.uploadedBytes)} uploaded of ` +
      formatBytes(plan.archiveBytes),
    ...(perSecond ? [`${formatBytes(Math.round(perSecond))}/s`] : []),
    ...(left === undefined ? [] : [`${formatDuration(left * 1000)} left`]),
  ].join(', ');
}

/** For a file or a pipe, where each text is a line: a new one for each tenth. */
function plainText({ state, progress }: ExportBody): string {
  return progress.share === null ? state : `${state}: ${Math.floor(progress.share * 10) * 10} %`;
}

/** Looks, before anything is asked for, whether a download can be put there. @throws {UsageError} */
export function checkOutput(output: string): void {
  const isFolder = existsSync(output) && statSync(output).isDirectory();
  if (isFolder) return;
  if (existsSync(output)) throw new UsageError(`${output} exists already. Name another file, or a folder.`);
  const folder = path.dirname(output);
  if (!existsSync(folder))
    throw new UsageError(`There is no folder ${folder}. Make it, or name another file.`);
}

/**
 * Where each archive goes. In a folder, one that lies there whole already is left out: a download that is repeated goes on
 * with the next.
 *
 * @param output a file, or a folder in which each archive has its own name. @throws {UsageError}
 */
export function filesFor(
  output: string,
  { archives }: Pick<ExportBody, 'archives'>,
): { readonly file: string; readonly index: number }[] {
  const isFolder = existsSync(output) && statSync(output).isDirectory();
  if (!isFolder && archives.length > 1)
    throw new UsageError(`There are ${archives.length} archives, so ${output} must be a folder that exists.`);
  return archives.flatMap(({ name, sizeBytes }, index) => {
    const file = isFolder ? path.join(output, path.basename(name)) : output;
    if (!existsSync(file)) return [{ file, index }];
    if (isFolder && statSync(file).size === sizeBytes) return [];
    throw new UsageError(`${file} exists already. Name another file or folder.`);
  });
}

/** Attempts in a row that bring nothing. */
const attemptsMax = 5;
/** Pause before the third of them, doubled each time. The second comes at once: a URL may only have expired. */
const pauseMs = 1000;

type Archive = ExportBody['archives'][number];

/** What a download is asked for. */
export interface Download {
  readonly job: ExportBody;
  /** Its place in the list of archives. */
  readonly index: number;
  readonly file: string;
  readonly isQuiet: boolean;
}

/**
 * Downloads an archive. What has arrived lies in a file beside it until it is complete, and a later download of the same
 * export goes on there.
 *
 * @throws {CliError} that says how to go on.
 */
export async function downloadArchive(
  { client, context }: { client: ApiClient; context: CliContext },
  download: Download,
): Promise<void> {
  const { job, index, file, isQuiet } = download;
  const interrupt = listenForInterrupt(context);
  const partFile = `${file}.${job.exportId}.part`;
  const line = new WaitLine(context, { isQuiet });
  try {
    const part = await open(partFile, 'a');
    try {
      const title = `${job.archives[index]?.name ?? file}: `;
      const fetched = new PartFile(part, new TransferProgress(context, line, title));
      await fetchAll({ client, interrupt, fetched }, { job, index });
      await part.sync();
    } finally {
      await part.close();
    }
    await rename(partFile, file);
    line.end(`${file}: ${formatBytes(job.archives[index]?.sizeBytes ?? 0)}`);
  } catch (error) {
    line.clear();
    throw explain(error, { download, isInterrupted: interrupt.signal.aborted });
  } finally {
    interrupt.release();
  }
}

async function fetchAll(
  { client, interrupt, fetched }: { client: ApiClient; interrupt: Interrupt; fetched: PartFile },
  { job, index }: Pick<Download, 'job' | 'index'>,
): Promise<void> {
  let archive = archiveOf(job, index);
  await fetched.begin(archive.sizeBytes);
  for (let failures = 0; fetched.bytes < archive.sizeBytes; ) {
    interrupt.signal.throwIfAborted();
    const before = fetched.bytes;
    const outcome = await attempt(archive, fetched, interrupt.signal);
    if (outcome === 'arrived') continue;
    failures = fetched.bytes > before ? 1 : failures + 1;
    if (failures >= attemptsMax) throw outcome;
    if (failures > 1) await interrupt.sleep(pauseMs * 2 ** (failures - 2));
    interrupt.signal.throwIfAborted();
    const { body } = await client.ask('getExport', { params: job });
    archive = archiveOf(body, index);
  }
}

function archiveOf({ tenant, archives, state }: ExportBody, index: number): Archive & { url: string } {
  const archive = archives[index];
  if (archive?.url === null || archive === undefined)
    throw new NoArchiveError(`There is no archive to download: the export is ${state}.`, {
      hint: `See what there is with \`lfs-quota export list ${tenant}\`.`,
    });
  return { ...archive, url: archive.url };
}

/** Asks for what is missing once. @returns what it failed with, if more has to be asked for. */
async function attempt(
  { url, sizeBytes }: Archive & { url: string },
  fetched: PartFile,
  stop: AbortSignal,
): Promise<'arrived' | Error> {
  try {
    const refused = await transferRest(
      { href: url, from: fetched.bytes, sizeBytes, stop },
      {
        restart: () => fetched.begin(sizeBytes, { anew: true }),
        append: (piece) => fetched.append(piece),
      },
    );
    if (refused)
      return new TransferError(`The store answered ${refused.status} to the download of the archive.`);
    return fetched.bytes === sizeBytes ? 'arrived' : new TransferError('The download broke off.');
  } catch (error) {
    stop.throwIfAborted();
    if (error instanceof FileError) throw error;
    return error instanceof Error ? error : new Error(String(error));
  }
}

/** There is nothing to go on with. */
class NoArchiveError extends CliError {}

/** The disk did not take what arrived. */
class FileError extends Error {
  override readonly name = 'FileError';
}

/** The file with what has arrived, and the line that shows it. */
class PartFile {
  readonly #part: FileHandle;
  readonly #progress: TransferProgress;
  #sizeBytes = 0;
  bytes = 0;

  constructor(part: FileHandle, progress: TransferProgress) {
    this.#part = part;
    this.#progress = progress;
  }

  /** @param options.anew what has arrived is of no use. So is what is longer than the archive. */
  async begin(sizeBytes: number, options: { anew?: boolean } = {}): Promise<void> {
    const { size } = await this.#part.stat();
    const isUseless = options.anew === true || size > sizeBytes;
    if (isUseless && size > 0) await this.#part.truncate(0);
    this.#sizeBytes = sizeBytes;
    this.bytes = isUseless ? 0 : size;
  }

  async append(piece: Uint8Array): Promise<void> {
    if (this.bytes + piece.length > this.#sizeBytes)
      throw new Error('The store sent more than the archive has.');
    try {
      await this.#part.appendFile(piece);
    } catch (cause) {
      throw new FileError('What arrived could not be written.', { cause });
    }
    this.bytes += piece.length;
    this.#progress.show({ bytes: this.bytes, totalBytes: this.#sizeBytes });
  }
}

function explain(
  error: unknown,
  { download, isInterrupted }: { download: Download; isInterrupted: boolean },
): CliError {
  const { tenant, exportId } = download.job;
  const again = `What has arrived is kept. Go on with \`lfs-quota export show ${tenant} ${exportId} --output ${download.file}\`.`;
  if (isInterrupted)
    return new CliError('Stopped the download.', { hint: again, failure: 'interrupted', cause: error });
  if (error instanceof NoArchiveError) return error;
  if (error instanceof CliError)
    return new CliError(error.message, { hint: `${error.hint}\n${again}`, cause: error });
  const cause = error instanceof Error && error.cause instanceof Error ? ` ${error.cause.message}.` : '';
  const what = error instanceof Error ? error.message : String(error);
  const message = `The archive is not complete. ${what.replace(/\.?$/, '.')}${cause}`;
  return new CliError(message, {
    hint: again,
    ...(error instanceof TransferError && { failure: 'unavailable' }),
    cause: error,
  });
}
