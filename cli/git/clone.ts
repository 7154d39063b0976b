import { existsSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../errors.ts';
import { gitLines, gitText, scanPointers, startGit, writeLines } from './git.ts';

/** Refs that an error names. */
const namedMax = 3;

interface RemoteRef {
  readonly name: string;
  readonly commit: string;
}

/**
 * Looks whether a clone has all that its remotes have: nothing cut off, nothing left out, nothing replaced, and every ref.
 *
 * @returns what the refs of the remotes point to.
 * @throws {CliError} that says what to do.
 */
export async function checkClone(clone: string, remotes: readonly string[]): Promise<string[]> {
  const folder = path.resolve(clone, await gitText(clone, ['rev-parse', '--git-common-dir']));
  await refuseHalves(clone, folder);
  const refs: RemoteRef[] = [];
  // First of all: what is pushed from now on is noted by the service.
  for (const remote of remotes) refs.push(...(await remoteRefs(clone, remote)));
  const missing = await missingOf(clone, refs);
  if (missing.length > 0) {
    const names = missing.slice(0, namedMax).map(({ name }) => name);
    const others = missing.length > namedMax ? ` and ${missing.length - namedMax} others` : '';
    throw new CliError(`The clone ${clone} lacks objects of these refs: ${names.join(', ')}${others}.`, {
      hint: remotes
        .map((remote) => `Fetch them: git -C ${clone} fetch ${remote} '+refs/*:refs/gc/*'`)
        .join('\n'),
    });
  }
  return refs.map(({ commit }) => commit);
}

async function refuseHalves(clone: string, folder: string): Promise<void> {
  if ((await gitText(clone, ['rev-parse', '--is-shallow-repository'])) === 'true')
    throw new CliError(`The clone ${clone} is shallow: it lacks commits.`, {
      hint: `Fetch them: git -C ${clone} fetch --unshallow`,
    });
  const settings = await gitText(clone, ['config', '--list', '--name-only']);
  if (/^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$/im.test(settings))
    throw new CliError(`The clone ${clone} is partial: it lacks files.`, {
      hint: 'Create another one without --filter: git clone --mirror URL',
    });
  const replaced = await gitText(clone, ['for-each-ref', '--count=1', 'refs/replace/']);
  if (replaced !== '' || existsSync(path.join(folder, 'info', 'grafts')))
    throw new CliError(`The clone ${clone} replaces commits (grafts, or refs/replace).`, {
      hint: 'Create another one: git clone --mirror URL',
    });
}

async function remoteRefs(clone: string, remote: string): Promise<RemoteRef[]> {
  const text = await gitText(clone, ['ls-remote', '--quiet', '--', remote]);
  return text.split('\n').flatMap((line) => {
    const [commit = '', name = ''] = line.split('\t');
    return /^[0-9a-f]{40,64}$/.test(commit) ? [{ commit, name }] : [];
  });
}

async function missingOf(clone: string, refs: readonly RemoteRef[]): Promise<RemoteRef[]> {
  const git = startGit(clone, ['cat-file', '--batch-check=%(objectname)']);
  const absent = new Set<string>();
  const writing = writeLines(
    git,
    refs.map(({ commit }) => commit),
  );
  for await (const line of gitLines(git)) if (line.endsWith(' missing')) absent.add(line.split(' ')[0] ?? '');
  await writing;
  return refs.filter(({ commit }) => absent.has(commit));
}

interface ScannedClone {
  /** The oids to which some commit, index, stash or reflog points. */
  readonly oids: ReadonlySet<string>;
  /** Objects of git that were looked at. */
  readonly objectCount: number;
}

/**
 * Finds the LFS objects to which anything in a clone points: commits of all refs, reflogs and indexes, and those of the
 * remote's refs. Every file of less than 1,024 bytes with a line `oid sha256:` counts as a pointer, wherever it lies.
 *
 * @param input.commits beside what the clone's own refs have.
 * @param input.onProgress called now and then, with the number of objects of git so far.
 * @throws {CliError} if something is missing in the clone.
 */
export async function scanClone(
  clone: string,
  { commits, onProgress }: { commits: readonly string[]; onProgress?: (objectCount: number) => void },
): Promise<ScannedClone> {
  const oids = new Set<string>();
  const objectCount = await scanPointers(clone, {
    list: ['--all', '--reflog', '--indexed-objects'],
    commits: new Set(commits),
    onPointer: (oid) => oids.add(oid),
    onProgress,
  });
  return { oids, objectCount };
}
