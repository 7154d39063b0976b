import { cp, mkdir, symlink } from 'node:fs/promises';
import path from 'node:path';
import { run } from './process.ts';

/** For npm on a busy machine. */
export const npmTimeoutMs = 10 * 60_000;
const root = path.join(import.meta.dirname, '../..');
/** What it is made from. Without Git, so nothing shows a commit. */
const packedParts = [
  ...['bin', 'cli', 'console', 'cost', 'lambda', 'lib', 'local'],
  ...['LICENSE', 'README.md', 'package.json', 'package-lock.json', 'tsconfig.json'],
];

/** Runs npm. @throws if it fails. */
export async function npm(place: { cwd: string; env: Record<string, string> }, ...args: string[]) {
  const ended = await run('npm', args, { ...place, timeoutMs: npmTimeoutMs });
  if (ended.code !== 0) throw new Error(`npm ${args.join(' ')} exited ${ended.code}:\n${ended.err}`);
  return ended;
}

/** The settings of an npm that has an empty cache, and gets nothing from a registry. */
export const offline = (folder: string) => ({
  npm_config_cache: path.join(folder, 'cache'),
  npm_config_offline: 'true',
});

/**
 * Packs the command line from a copy: lanes pack at the same time, and `dist` belongs to the checkout.
 *
 * @returns the package in the folder, what it has, and the copy.
 */
export async function packInto(folder: string, env: Record<string, string>) {
  const copy = path.join(folder, 'copy');
  await mkdir(copy);
  for (const part of packedParts) await cp(path.join(root, part), path.join(copy, part), { recursive: true });
  await symlink(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const ended = await npm({ cwd: copy, env }, 'pack', '--json', '--pack-destination', folder);
  const [{ filename, files }] = JSON.parse(ended.out.slice(ended.out.indexOf('[')));
  return {
    copy,
    file: path.join(folder, String(filename)),
    paths: files.map((file: { path: string }) => file.path) as string[],
  };
}
