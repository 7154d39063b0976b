import { open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { plainEnvironment, run } from '../../test/support/process.ts';

/** Gigabytes on a slow disk that others use, too. */
const flushMsMax = 10 * 60_000;
const chunkBytes = 1024 * 1024;

/**
 * Makes the conditions of a phase alike for all servers: what was written before is on the disk, so that nobody pays
 * for the one before, and the files that the phase reads are in the page cache.
 *
 * @param input.flushed a folder of the file system that the run writes to.
 * @param input.warmed folders that exist.
 * @throws {Error} if the disk did not take everything.
 */
export async function makeAlike(input: { flushed: string; warmed: readonly string[] }): Promise<void> {
  const { flushed, warmed } = input;
  const place = { cwd: flushed, env: plainEnvironment(), timeoutMs: flushMsMax };
  const { code, err } = await run('sync', ['-f', flushed], place);
  if (code !== 0) throw new Error(`sync -f ${flushed} exited ${code}: ${err}`);
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (const folder of warmed) await readAll(folder, chunk);
}

/** Reads every file below a folder. @returns their bytes. */
export async function readAll(
  folder: string,
  chunk: Buffer = Buffer.allocUnsafe(chunkBytes),
): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += await readFile(join(entry.parentPath, entry.name), chunk);
  }
  return bytes;
}

async function readFile(path: string, chunk: Buffer): Promise<number> {
  const file = await open(path);
  try {
    let bytes = 0;
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return bytes;
      bytes += bytesRead;
    }
  } finally {
    await file.close();
  }
}
