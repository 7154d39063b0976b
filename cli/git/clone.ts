import { existsSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../errors.ts';
import { gitAnswers, gitText, scanPointers } from './git.ts';

/** Refs that an error names. */
const namedMax = 3;

export interface RemoteRef {
  readonly name: string;
  readonly commit: string;
}

/**
 * Looks whether a clone has all that its remotes have: nothing cut off, nothing left out, nothing replaced, and every ref.
 *
 * @returns the refs of the remotes, and what they point to.
 * @throws {CliError} that says what to do.
 */
export async function checkClone(clone: string, remotes: readonly string[]): Promise<RemoteRef[]> {
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
  return refs;
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
  const absent = new Set<string>();
  const commits = refs.map(({ commit }) => commit);
  for await (const line of gitAnswers(clone, ['cat-file', '--batch-check=%(objectname)'], commits))
    if (line.endsWith(' missing')) absent.add(line.split(' ')[0] ?? '');
  return refs.filter(({ commit }) => absent.has(commit));
}

export type Pointers = ReadonlyMap<string, readonly string[]>;

interface ScannedClone {
  /** The oids to which some commit, index, stash or reflog points. */
  readonly oids: ReadonlySet<string>;
  /** Object of git → the oids that are in it. */
  readonly pointers: Pointers;
  /** Objects of git that were looked at. */
  readonly objectCount: number;
}

/**
 * Finds the LFS objects to which anything in a clone points: commits of all refs, reflogs and indexes, and those of the
 * remote's refs. Every file of less than 1,024 bytes with a line `oid sha256:` counts as a pointer, wherever it lies.
 *
 * @param input.refs beside the clone's own.
 * @param input.onProgress called now and then, with the number of objects of git so far.
 * @throws {CliError} if something is missing in the clone.
 */
export async function scanClone(
  clone: string,
  { refs, onProgress }: { refs: readonly RemoteRef[]; onProgress?: (objectCount: number) => void },
): Promise<ScannedClone> {
  const oids = new Set<string>();
  const pointers = new Map<string, string[]>();
  const objectCount = await scanPointers(clone, {
    list: ['--all', '--reflog', '--indexed-objects'],
    commits: new Set(refs.map(({ commit }) => commit)),
    onPointer: (oid, { object }) => {
      oids.add(oid);
      const inObject = pointers.get(object);
      if (inObject) inObject.push(oid);
      else pointers.set(object, [oid]);
    },
    onProgress,
  });
  return { oids, pointers, objectCount };
}
