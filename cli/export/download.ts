import { type FileHandle, open, rename } from 'node:fs/promises';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { type ExportBody, exportSchema } from '../../lambda/http/management/exports/schemas.ts';
import type { ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { WaitLine } from '../wait-line.ts';
import { type Interrupt, listenForInterrupt } from './interrupt.ts';
import { TransferError, TransferProgress, transferRest } from './transfer.ts';
import { exportPath } from './wait-for-export.ts';

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
    const { body } = await client.send({ method: 'GET', path: exportPath(job), shape: exportSchema });
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
