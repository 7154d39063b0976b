import { createCipheriv, createHash } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';

/** Relative path → bytes. */
export type Files = ReadonlyMap<string, Buffer>;

/** Bytes that look random, and are the same for the same name. */
export function bytesOf(name: string, sizeBytes: number): Buffer {
  const key = createHash('sha256').update(name).digest();
  return createCipheriv('aes-256-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(sizeBytes));
}

export async function writeFiles(folder: string, files: Files): Promise<void> {
  for (const [path, bytes] of files) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), bytes);
  }
}

/** All files below a folder whose name ends in `.bin`. */
export async function readFiles(folder: string): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith('.bin')) continue;
    const path = join(entry.parentPath, entry.name);
    found.set(relative(folder, path), await readFile(path));
  }
  return found;
}

/** path → SHA-256 and size. Two folders hold the same files if these are equal. */
export function digests(files: Files): Record<string, string> {
  const entries = [...files].map(([path, bytes]) => [path, `${oidOf(bytes)} ${bytes.length}`] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/**
 * oid → bytes of the LFS objects of these files. git-lfs makes no object of an empty file, and one object of several
 * equal files.
 */
export function objectsOf(files: Files): Map<string, number> {
  const objects = [...files.values()].filter((bytes) => bytes.length > 0);
  return new Map(objects.map((bytes) => [oidOf(bytes), bytes.length]));
}

function oidOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}
