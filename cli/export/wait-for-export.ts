import { formatBytes } from '../../lambda/domain/bytes.ts';
import { type ExportBody, exportSchema } from '../../lambda/http/management/exports/schemas.ts';
import type { ApiAnswer, ApiClient } from '../api-client.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { Rate } from '../rate.ts';
import { formatDuration } from '../render.ts';
import { WaitLine } from '../wait-line.ts';
import { listenForInterrupt } from './interrupt.ts';

const pollMs = 2000;
/** Polls in a row that fail: an export may take hours, and a connection breaks now and then. */
const failedPollsMax = 5;

export const exportPath = ({ tenant, exportId }: Pick<ExportBody, 'tenant' | 'exportId'>) =>
  `/v1/tenants/${tenant}/exports/${exportId}`;

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
    return await client.send({ method: 'GET', path: exportPath(job), shape: exportSchema });
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
