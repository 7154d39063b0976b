import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { formatBytes } from '../../lambda/domain/bytes.ts';
import { errorCode } from '../../local/system/startup-error.ts';
import { CliError } from '../errors.ts';

const whatToDo: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full. Free some space, and call it again: it goes on.',
  EDQUOT: 'That is beyond the quota of this user. Free some space, and call it again: it goes on.',
  EFBIG: 'The file system takes no file of that size. Name a file on another one.',
  EACCES: 'The folder may not be written. Name a file in another one.',
  EPERM: 'The folder may not be written. Name a file in another one.',
  EROFS: 'The folder may not be written. Name a file in another one.',
  EISDIR: 'A folder has the name of a file beside it. Name another file.',
  ENOENT: 'Its folder does not exist. Make it, or name another file.',
  ENOTDIR: 'Its folder does not exist. Make it, or name another file.',
};

/** An error of the disk as one for a person; any other as it is. */
export function explainDiskError(error: unknown, file: string): unknown {
  const cause = errorCode(error) === undefined && error instanceof Error ? error.cause : error;
  const code = errorCode(cause);
  // Node's own errors have an underscore in their code.
  if (error instanceof CliError || code === undefined || !/^E[A-Z]+$/.test(code)) return error;
  const hint = whatToDo[code] ?? 'Name another file.';
  return new CliError(`${file} cannot be written (${code}).`, { hint, cause: error });
}

/** @throws {CliError} when a disk has not the room for so many bytes more. */
export async function checkRoom(file: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path.dirname(file));
  const freeBytes = bavail * bsize;
  if (freeBytes >= bytes) return;
  throw new CliError(
    `${file} needs ${formatBytes(bytes)} more, and its disk has ${formatBytes(freeBytes)} free.`,
    { hint: 'Free some space, or name a file on another disk.' },
  );
}
