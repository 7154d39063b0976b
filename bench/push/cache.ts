import { accessSync, constants, mkdirSync, readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where engines and peers are kept, so that each machine fetches them once; the same folder as in .ci/lib.sh. */
export function cacheFolder(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const { LFS_QUOTA_CACHE: own, XDG_CACHE_HOME: caches } = env;
  const folder = own || join(caches || join(homedir(), '.cache'), 'lfs-quota');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** The versitygw that .ci/engines.sh built, if it did. */
export function installedVersitygw(folder: string): { file: string; version: string } | undefined {
  const name = readdirSync(folder)
    .filter((each) => /^versitygw-[\d.]+$/.test(each))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .at(-1);
  if (name === undefined || !isExecutable(join(folder, name))) return undefined;
  return { file: join(folder, name), version: name.slice('versitygw-'.length) };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
