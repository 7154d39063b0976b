import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../startup-error.ts';

/** What unfinished writes are called; whoever lists a folder passes over them. */
export const unfinishedSuffix = '.unfinished';

/**
 * Writes a whole file so that a reader, also one after a crash or a power cut, finds the old text or the
 * new, never a part: written beside it, forced to disk, renamed.
 */
export async function writeDurably(
  path: string,
  text: string,
  options: { mode?: number } = {},
): Promise<void> {
  const besidePath = `${path}.${randomUUID()}${unfinishedSuffix}`;
  try {
    const file = await open(besidePath, 'wx', options.mode ?? 0o600);
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(besidePath, path);
  } catch (error) {
    await rm(besidePath, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** A file's text, or undefined where there is none. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes a rename outlive a power cut, where the system can open folders (Windows can't). */
async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL'].includes(errorCode(error) ?? '')) throw error;
  }
}
