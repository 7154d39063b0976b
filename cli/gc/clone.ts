import { existsSync } from 'node:fs';
import path from 'node:path';
import { CliError } from '../errors.ts';
import {
  blobsOf,
  gitLines,
  gitText,
  incompleteClone,
  isPointerSize,
  oidsIn,
  startGit,
  writeLines,
} from '../git/git.ts';

/** Refs that an error names. */
const namedMax = 3;

/** A ref of a remote. */
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
  const list = startGit(clone, [
    ...['rev-list', '--objects', '--no-object-names'],
    ...['--all', '--reflog', '--indexed-objects', '--stdin'],
  ]);
  const check = startGit(clone, [
    ...['cat-file', '--buffer'],
    '--batch-check=%(objectname) %(objecttype) %(objectsize)',
  ]);
  const read = startGit(clone, ['cat-file', '--buffer', '--batch']);
  let objectCount = 0;
  async function* small() {
    for await (const line of gitLines(check)) {
      const [object = '', type, size] = line.split(' ');
      if (type === 'missing') throw incompleteClone(clone, object);
      objectCount += 1;
      if (objectCount % progressEvery === 0) onProgress?.(objectCount);
      if (type === 'blob' && isPointerSize(Number(size))) yield object;
    }
  }
  const oids = new Set<string>();
  const collect = async () => {
    for await (const { content } of blobsOf(read, clone)) for (const oid of oidsIn(content)) oids.add(oid);
  };
  try {
    await Promise.all([
      writeLines(list, new Set(commits)),
      writeLines(check, gitLines(list)),
      writeLines(read, small()),
      collect(),
    ]);
  } finally {
    // After a failure the others would wait for ever.
    for (const git of [list, check, read]) git.stop();
  }
  return { oids, objectCount };
}

const progressEvery = 10_000;
