import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './startup-error.ts';

/** Suffix of files that are still being written. Whoever lists a folder skips them. */
export const unfinishedSuffix = '.unfinished';

/**
 * Replaces a file atomically: a reader finds the old text or the new one, also after a crash or a power cut. The text
 * is written beside the file, synced to disk, and renamed.
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

/** A file's text; undefined if there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes a rename survive a power cut. Does nothing on systems that cannot open folders, such as Windows. */
export async function syncFolder(path: string): Promise<void> {
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
