import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type NameLayout, storedNameOf } from '../../../../lambda/core/store/rules/adopted-repos.ts';
import type { GitUser } from '../../../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles } from '../../../support/payload.ts';
import { Stack } from '../../stack.ts';
import { importInto, listStore, sizesOf, totalBytes, usageWithin } from '../../store-truth.ts';
import { createAcme, describeWithGitLfs } from '../../with-git-lfs.ts';

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const fileOf = (name: string, size: number): Files => new Map([[`${name}.bin`, bytesOf(`gc-${name}`, size)]]);

/** Where the objects lie in the bucket, below a path, and by which names. */
interface Lying {
  readonly path: string;
  readonly names: NameLayout;
}

describeWithGitLfs('a gc run', () => cleansUp({ path: 'acme/game', names: 'oid' }));
describeWithGitLfs('a gc run of an adopted repo', () => cleansUp({ path: 'lfs', names: 'ab/cd/rest' }));

/** The flags of a stack that has `acme/game` there. */
async function flagsFor({ path, names }: Lying, folder: string): Promise<string[]> {
  if (path === 'acme/game') return [];
  const file = join(folder, 'adopted.json');
  await writeFile(file, JSON.stringify([{ tenant: 'acme', repo: 'game', path: `${path}/`, names }]));
  return ['--adopt', file];
}

function cleansUp(lying: Lying): void {
  const kept = fileOf('kept', 40_000);
  const gone = fileOf('gone', 3_000);
  const later = fileOf('later', 2_000);
  const all = new Map([...kept, ...gone, ...later]);
  const [goneOid = ''] = objectsOf(gone).keys();
  const [laterOid = ''] = objectsOf(later).keys();
  let stack: Stack;
  let user: GitUser;
  let workTree: string;
  let remote: string;
  let clone: string;
  let oldCommit: string;

  const git = (...args: string[]) => user.git(workTree, ...args);
  const gc = (...args: string[]) => stack.cli('gc', 'acme', 'game', ...args);
  const nameOf = (oid: string) => storedNameOf(lying.names, oid);
  const namesOf = (files: Files) => new Set([...objectsOf(files).keys()].map(nameOf));
  const stored = async () => new Set((await listStore(stack, lying.path)).keys());
  let folder: string;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lfs-quota-e2e-gc-'));
    stack = await Stack.start({ flags: ['--gc-watch', '0', ...(await flagsFor(lying, folder))] });
    // What was uploaded within the hour is kept in any case: its URLs may still be used. So this was brought along.
    const imported = [...all.values()].map((bytes) => [nameOf(sha256(bytes)), bytes] as const);
    await importInto(stack, lying.path, new Map(imported));
    ({ user, remote, workTree } = await createAcme(stack, '10MiB'));
    for (const [message, files] of [
      ['Kept', kept],
      ['Gone', gone],
    ] as const) {
      await user.commitFiles(workTree, files, message);
    }
    await git('push', '--quiet', 'origin', 'main');
    await user.commitFiles(workTree, later, 'Later');
    await git('push', '--quiet', 'origin', 'main:side');
    oldCommit = (await git('rev-parse', 'main')).out.trim();
    await git('reset', '--quiet', '--hard', 'main~2');
    await git('push', '--quiet', '--force', 'origin', 'main', ':side');
    clone = join(user.home, 'mirror.git');
    await user.git(user.home, 'clone', '--quiet', '--mirror', remote, clone);
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  it('is opened by the command of the release before, too, which says the new one', async () => {
    const opened = await stack.cli('gc', 'open', 'acme', 'game');
    expect(opened).toMatchObject({ code: 0, err: expect.stringMatching(/Use instead: \S+ gc\n/) });
    expect(opened.out).toContain('acme/game: watching');
    expect((await stack.cli('gc', 'status', 'acme', 'game')).out).toContain('acme/game: watching');
  });

  it('refuses a clone that is shallow', async () => {
    await user.git(user.home, 'clone', '--quiet', '--mirror', '--depth=1', `file://${remote}`, 'shallow.git');
    const refused = await gc('--clone', join(user.home, 'shallow.git'));
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('is shallow')]);
  });

  it('shows what no commit needs, and deletes nothing unless it is asked to', async () => {
    const list = join(user.home, 'list.txt');
    const args = ['--clone', clone, '--older-than', '0', '--list', list];
    const shown = await stack.cli('gc', 'run', 'acme', 'game', ...args);
    expect(shown, shown.err).toMatchObject({ code: 0 });
    expect(shown.out).toMatch(/would be deleted +2 objects, 4\.88 KiB/);
    expect(shown.out).toContain(goneOid);
    expect(await readFile(list, 'utf8')).toContain(`${goneOid} 3000\n`);
    expect(await stored()).toEqual(namesOf(all));
  });

  it('keeps what is young', async () => {
    const shown = await stack.cliJson('gc', 'acme', 'game', '--clone', clone);
    expect(shown).toMatchObject({ found: { young: { objectCount: 2 }, candidates: { objectCount: 0 } } });
  });

  it('keeps what is pushed again meanwhile, though the clone does not know it, and deletes the rest', async () => {
    // Somebody brings the last commit's file back. It is stored, so nothing is sent.
    await user.git(user.home, 'clone', '--quiet', remote, 'other');
    const other = join(user.home, 'other');
    await user.commitFiles(other, later, 'Later, again');
    await user.git(other, 'push', '--quiet', 'origin', 'main:again');
    const stale = await gc('--clone', clone, '--older-than', '0', '--delete');
    expect([stale.code, stale.err]).toEqual([1, expect.stringContaining('refs/heads/again')]);
    await user.git(clone, 'fetch', '--quiet', 'origin');
    // This push is under way: its ref is not there yet.
    await user.git(other, 'push', '--quiet', 'origin', ':again');
    await user.git(clone, 'fetch', '--quiet', '--prune', 'origin');
    const done = await gc('--clone', clone, '--older-than', '0', '--delete');
    expect(done, done.err).toMatchObject({ code: 0 });
    expect(done.out).toMatch(/acme\/game: done.*acme\/game: watching/s);
    expect(done.out).toMatch(/in a push since then +1 object,/);
    expect(await stored()).toEqual(namesOf(new Map([...kept, ...later])));
    const left = objectsOf(new Map([...kept, ...later]));
    const usage = { storedBytes: totalBytes(left), objectCount: 2 };
    expect(await usageWithin(stack, { tenant: 'acme', expected: usage, timeoutMs: 60_000 })).toMatchObject(
      usage,
    );
  });

  it('leaves a repo that clones, and says of what is gone why', async () => {
    await user.git(user.home, 'clone', '--quiet', remote, 'fresh');
    expect(digests(await readFiles(join(user.home, 'fresh')))).toEqual(digests(kept));
    await rm(join(workTree, '.git', 'lfs'), { recursive: true });
    const fetched = await user.tryGit(workTree, ['lfs', 'fetch', 'origin', oldCommit]);
    expect(fetched.code).not.toBe(0);
    expect(fetched.err + fetched.out).toMatch(/Deleted on .* by an admin or gc\./);
    expect(fetched.err + fetched.out).not.toContain(laterOid);
  });

  it('takes again what it deleted, if somebody still has it', async () => {
    await user.commitFiles(workTree, gone, 'Back');
    await git('push', '--quiet', 'origin', 'main');
    expect(await stored()).toContain(nameOf(goneOid));
    await user.git(user.home, 'clone', '--quiet', remote, 'back');
    expect(digests(await readFiles(join(user.home, 'back')))).toEqual(digests(new Map([...kept, ...gone])));
  });

  it('is over, and the next one is open and may be cancelled', async () => {
    expect((await gc('--cancel')).out).toContain('acme/game: cancelled');
    expect(sizesOf(await listStore(stack, lying.path)).get(nameOf(goneOid))).toBe(3_000);
  });
}
