import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { plainEnvironment, run } from './process.ts';

const projectRoot = join(import.meta.dirname, '..', '..');
const timeoutMs = 120_000;

interface Release {
  readonly version: string;
  readonly commit: string;
}

/** The version that was released last, as `.ci/last-release` has it: a version and a commit. */
export function lastRelease(): Release {
  const line = readFileSync(join(projectRoot, '.ci', 'last-release'), 'utf8');
  const [, version, commit] = /^(\d+\.\d+\.\d+) ([0-9a-f]{40})\n$/.exec(line) ?? [];
  if (version === undefined || commit === undefined)
    throw new Error(`.ci/last-release must have one line, VERSION COMMIT, not: ${line}`);
  return { version, commit };
}

const git = (...args: string[]) => run('git', args, { cwd: projectRoot, env: plainEnvironment(), timeoutMs });

/** A file of the last release. */
export async function fileOfLastRelease(path: string): Promise<string> {
  const shown = await git('show', `${await fetchLastRelease()}:${path}`);
  if (shown.code !== 0) throw new Error(`The last release has no ${path}: ${shown.err}`);
  return shown.out;
}

/** @returns its commit, which is in this clone then. */
async function fetchLastRelease(): Promise<string> {
  const { version, commit } = lastRelease();
  if ((await git('cat-file', '-e', `${commit}^{commit}`)).code === 0) return commit;
  // A clone may be shallow.
  const fetched = await git('fetch', '--quiet', '--no-tags', '--depth', '1', 'origin', commit);
  if (fetched.code !== 0)
    throw new Error(
      `This clone lacks the last release, ${version}, and can't fetch it. Is ${commit} in .ci/last-release a commit of origin? ${fetched.err}`,
    );
  return commit;
}

/**
 * Puts the files of the last release into a folder that does not exist yet. They run with the dependencies of this
 * version: installing others would take minutes, and what is deployed has to read the same data with either.
 */
export async function checkOutLastRelease(folder: string): Promise<void> {
  const commit = await fetchLastRelease();
  mkdirSync(folder);
  const archive = `${folder}.tar`;
  for (const [command, ...args] of [
    ['git', 'archive', '--output', archive, commit],
    ['tar', '-xf', archive, '-C', folder],
  ] as const) {
    const ended = await run(command, args, { cwd: projectRoot, env: plainEnvironment(), timeoutMs });
    if (ended.code !== 0) throw new Error(`${command} ${args.join(' ')} exited ${ended.code}: ${ended.err}`);
  }
  symlinkSync(join(projectRoot, 'node_modules'), join(folder, 'node_modules'));
}
