import { InvalidArgumentError } from 'commander';
import { errorCode, StartupError } from '../../local/system/durable-file.ts';
import type { CliContext } from '../context.ts';
import { CliError } from '../errors.ts';
import { formatCount } from '../render.ts';

const daysMax = 7;

/** When uploads start again, at the earliest: `now`, or a time. */
function parseUploadsFrom(text: string): number {
  const atMs = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?Z$/.test(text) ? Date.parse(text) : Number.NaN;
  if (text === 'now') return Date.now();
  if (atMs < Date.now() + daysMax * 86_400_000) return atMs;
  throw new InvalidArgumentError(
    `Use now, or a time in UTC such as 2026-11-27T12:00Z, up to ${daysMax} days ahead.`,
  );
}

export interface HoldOptions {
  readonly uploadsFrom?: number | undefined;
}

export const uploadsFromOption = [
  '--uploads-from <time>',
  'now, or a UTC time (default: when old upload URLs have expired)',
  parseUploadsFrom,
] as const;

/** Until when uploads wait. @param usedInMs until then, URLs may come from before. */
export async function holdOf({ uploadsFrom }: HoldOptions, usedInMs = 0): Promise<number> {
  const { lastPutMs } = await import('../../local/backup/restored.ts');
  // A time in the past would hold nothing: what was stored since the backup isn't counted yet.
  return Math.max(Date.now(), uploadsFrom ?? lastPutMs(Date.now() + usedInMs));
}

export const uploadsText = (untilMs: number) =>
  `Uploads start after a scan of each tenant, from ${new Date(untilMs).toISOString().slice(0, 16).replace('T', ' ')} UTC. Downloads work.\n`;

/** Errors of files and tables, as this command line shows them. */
export async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof StartupError)
      throw new CliError(error.message, { hint: 'See: lfs-quota table --help' });
    if (!(error instanceof Error)) throw error;
    const isOfAws = '$metadata' in error || /^(Credentials|Token)/.test(error.name);
    if (!isOfAws && errorCode(error) === undefined) throw error;
    const hint = 'Fix the cause, and run the command again.';
    throw new CliError(`${error.name}: ${error.message}`, { hint, cause: error });
  }
}

/** Writes a backup to a file or to standard output. */
export async function saveBackup(
  context: CliContext,
  { file, text, of }: { file: string; text: AsyncIterable<string>; of: string },
): Promise<void> {
  const { writeBackup } = await import('../../local/backup/backup-file.ts');
  const toOutput = (piece: string) =>
    new Promise<void>(
      (done, fail) => void process.stdout.write(piece, (error) => (error ? fail(error) : done())),
    );
  const items = await writeBackup(file, text, toOutput);
  context.err(`Saved ${formatCount(items)} items of ${of}${file === '-' ? '' : ` in ${file}`}.\n`);
}
