import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../test/support/process.ts';
import { cacheFolder } from './cache.ts';

/** Compiling a peer on a busy machine. */
const installMsMax = 40 * 60_000;

export interface Step {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * Installs something into the cache, once a machine. An interrupted install leaves nothing that looks complete.
 *
 * @param steps for the folder that they install into, which is moved afterwards.
 * @returns the folder.
 * @throws {Error} with what a failing step said.
 */
export async function installOnce(name: string, steps: (folder: string) => readonly Step[]): Promise<string> {
  const cache = cacheFolder();
  const folder = join(cache, name);
  if (existsSync(folder)) return folder;
  const build = mkdtempSync(join(cache, 'build.'));
  try {
    for (const { command, args } of steps(build)) {
      const { code, err } = await run(command, args, {
        cwd: build,
        env: callersEnvironment(),
        timeoutMs: installMsMax,
      });
      if (code !== 0) throw new Error(`${command} ${args[0]} failed: ${reasonIn(err)}`);
    }
    renameSync(build, folder);
    return folder;
  } finally {
    rmSync(build, { recursive: true, force: true });
  }
}

/** The first line that speaks of an error, or the last line. */
function reasonIn(err: string): string {
  const lines = err.trim().split('\n');
  return lines.find((line) => /error/i.test(line)) ?? lines.at(-1) ?? 'it said nothing';
}

/** Package managers need the proxies, certificates and registries that are set up on this machine. */
function callersEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : [])),
  );
}
