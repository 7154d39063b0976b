import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { formatBytes } from '../../../lambda/core/rules/sizes.ts';
import type { ExportBody } from '../../../lambda/subjects/exports/contract.ts';
import { isOpen } from '../../../lambda/subjects/exports/rules/job.ts';
import type { ApiAnswer, ApiClient } from '../../api-client.ts';
import type { CliContext } from '../../context.ts';
import { downloadFile, giveName, type Offer } from '../../download-file.ts';
import { CliError, UsageError } from '../../errors.ts';
import { Rate, waitUntilEnded } from '../../progress.ts';
import { formatDuration, shellWords } from '../../render.ts';
import { transferring } from '../../transfer.ts';

/**
 * Waits until an export has ended, and shows how far it is.
 *
 * @param wait.isQuiet show nothing.
 * @returns the export at its end. @throws {CliError} on Ctrl-C, or when the API does not answer.
 */
export function waitForExport(
  { client, context }: { client: ApiClient; context: CliContext },
  { job, isQuiet }: { job: ExportBody; isQuiet: boolean },
): Promise<ApiAnswer<ExportBody>> {
  const rate = new Rate();
  const place = `${job.tenant} ${job.exportId}`;
  return waitUntilEnded(context, {
    isQuiet,
    poll: () => client.ask('getExport', { params: job }),
    textOf: ({ body }, inPlace) => {
      if (!isOpen(body)) return undefined;
      rate.note({ ms: context.nowMs(), done: doneBytes(body) });
      return inPlace ? progressText(body, rate) : plainText(body);
    },
    what: 'The export',
    hint: `See its progress: lfs-quota export show ${place}. Cancel it: lfs-quota export delete ${place}`,
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
  if (existsSync(output)) throw new UsageError(`${output} already exists. Use another file, or a folder.`);
  const folder = path.dirname(output);
  if (!existsSync(folder))
    throw new UsageError(`Folder ${folder} not found. Create it, or use another file.`);
}

/**
 * Where each archive goes. In a folder, one may lie there whole already: a download that is repeated goes on with the next.
 *
 * @param output a file, or a folder in which each archive has its own name. @throws {UsageError}
 */
export function filesFor(
  output: string,
  { archives }: Pick<ExportBody, 'archives'>,
): { readonly file: string; readonly isThere: boolean }[] {
  const isFolder = existsSync(output) && statSync(output).isDirectory();
  if (!isFolder && archives.length > 1)
    throw new UsageError(`There are ${archives.length} archives, so ${output} must be an existing folder.`);
  return archives.map(({ name, sizeBytes }) => {
    const file = isFolder ? path.join(output, path.basename(name)) : output;
    const isThere = existsSync(file);
    if (!isThere || (isFolder && statSync(file).size === sizeBytes)) return { file, isThere };
    throw new UsageError(`${file} already exists. Use another file or folder.`);
  });
}

interface Download {
  readonly job: ExportBody;
  /** Its place in the list of archives. */
  readonly index: number;
  readonly file: string;
  /** What a person gave for it: the file, or its folder. */
  readonly output: string;
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
  { job, index, file, output, isQuiet }: Download,
): Promise<void> {
  const { tenant, exportId, archives } = job;
  const { name = file, sizeBytes = 0 } = archives[index] ?? {};
  const part = `${file}.${exportId}.part`;
  const command = shellWords(['export', 'show', tenant, exportId, '--output', output]);
  const goOn = `The downloaded part is kept. Resume: lfs-quota ${command}`;
  let known: ExportBody | undefined = job;
  const nextOffer = async () => {
    const body = known ?? (await client.ask('getExport', { params: job })).body;
    known = undefined;
    return offerOf(body, index);
  };
  const shown = { isQuiet, totalBytes: sizeBytes, title: `${name}: `, file, goOn };
  await transferring(context, shown, async (deps, { onBytes }) => {
    const fetched = await downloadFile(deps, { part, sizeBytes, nextOffer, onBytes });
    if (fetched.kind !== 'complete')
      throw new CliError(fetched.kind === 'gone' ? 'The archive was removed.' : fetched.message, {
        hint: `List them: lfs-quota export list ${tenant}`,
      });
    await giveName(part, file, { isForced: false });
  });
  if (!isQuiet) context.out(`${file}: ${formatBytes(sizeBytes)}\n`);
}

function offerOf({ archives, state }: ExportBody, index: number): Offer {
  const href = archives[index]?.url;
  const message = `No archive to download: the export is ${state}.`;
  return typeof href === 'string' ? { kind: 'offered', href } : { kind: 'refused', message };
}
