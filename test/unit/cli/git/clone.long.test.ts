import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkClone, scanClone } from '../../../../cli/git/clone.ts';

const oidOf = (name: string) => createHash('sha256').update(name).digest('hex');
const pointer = (name: string) =>
  `version https://git-lfs.github.com/spec/v1\noid sha256:${oidOf(name)}\nsize 12345\n`;

describe('a clone', () => {
  let home: string;
  let server: string;
  let work: string;
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', ...args], {
      cwd,
      env: { PATH: process.env['PATH'], HOME: home, GIT_CONFIG_NOSYSTEM: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
      .toString()
      .trim();
  const write = (name: string, text = pointer(name)) => writeFileSync(join(work, name), text);
  const commit = (name: string, text?: string) => {
    write(name, text);
    git(work, 'add', '.');
    git(work, 'commit', '-qm', name);
  };
  const scan = async (clone: string) =>
    (await scanClone(clone, { refs: await checkClone(clone, ['origin']) })).oids;
  const mirror = (...args: string[]) => {
    const clone = join(home, 'mirror.git');
    git(home, 'clone', '-q', '--mirror', ...args, `file://${server}`, clone);
    return clone;
  };

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'lfs-quota gc-'));
    server = join(home, 'server.git');
    work = join(home, 'work');
    git(home, 'init', '-q', '--bare', '-b', 'main', server);
    git(server, 'config', 'uploadpack.allowFilter', 'true');
    git(home, 'init', '-q', '-b', 'main', work);
    git(work, 'remote', 'add', 'origin', server);
    commit('first.bin');
    commit('second.bin');
    git(work, 'push', '-q', 'origin', 'main');
  });
  afterEach(() => rmSync(home, { recursive: true, force: true }));

  it('needs what any commit of any ref points to', async () => {
    git(work, 'checkout', '-q', '-b', 'side');
    commit('side.bin');
    git(work, 'tag', '-am', 'A tag', 'tagged');
    git(work, 'push', '-q', 'origin', 'side', 'tagged');
    const expected = ['first.bin', 'second.bin', 'side.bin'].map(oidOf);
    expect(await scan(mirror())).toEqual(new Set(expected));
  });

  it('needs what was rewritten, stashed or added, and is in no ref', async () => {
    commit('rewritten.bin');
    git(work, 'reset', '-q', '--hard', 'HEAD~1');
    write('second.bin', pointer('stashed.bin'));
    git(work, 'stash', '-q');
    write('second.bin', pointer('older.bin'));
    git(work, 'stash', '-q');
    write('added.bin');
    git(work, 'add', '.');
    const names = ['first.bin', 'second.bin', 'rewritten.bin', 'stashed.bin', 'older.bin', 'added.bin'];
    expect(await scan(work)).toEqual(new Set(names.map(oidOf)));
  });

  it('needs what looks like a pointer, whatever else is in it, and no larger file', async () => {
    commit('crlf.bin', pointer('crlf').replaceAll('\n', '\r\n'));
    commit('two.txt', `${pointer('one')}\n${pointer('two')}`);
    commit('large.txt', pointer('large').padEnd(1024, '\n'));
    commit('almost.txt', pointer('almost').padEnd(1023, '\n'));
    commit('none.txt', `see oid sha256:${oidOf('none')}\n`);
    commit('empty.txt', '');
    git(work, 'push', '-q', 'origin', 'main');
    const names = ['first.bin', 'second.bin', 'crlf', 'one', 'two', 'almost'];
    expect(await scan(work)).toEqual(new Set(names.map(oidOf)));
  });

  it('may be one without a pointer, or without a commit', async () => {
    const empty = join(home, 'empty.git');
    git(home, 'init', '-q', '--bare', empty);
    git(empty, 'remote', 'add', 'origin', empty);
    expect(await scan(empty)).toEqual(new Set());
  });

  it('is read in many pieces', async () => {
    for (let index = 0; index < 1_500; index += 1) write(`many-${index}.bin`);
    git(work, 'add', '.');
    git(work, 'commit', '-qm', 'Many');
    git(work, 'push', '-q', 'origin', 'main');
    const counts: number[] = [];
    const refs = await checkClone(work, ['origin']);
    const { oids, objectCount } = await scanClone(work, {
      refs,
      onProgress: (count) => counts.push(count),
    });
    expect(oids.size).toBe(1_502);
    expect(objectCount).toBeGreaterThan(1_502);
  });

  it('must not be shallow', async () => {
    await expect(checkClone(mirror('--depth=1'), ['origin'])).rejects.toThrow('is shallow');
  });

  it('must not be partial', async () => {
    await expect(checkClone(mirror('--filter=blob:none'), ['origin'])).rejects.toThrow('is partial');
  });

  it('must not replace commits', async () => {
    git(work, 'replace', 'HEAD', 'HEAD~1');
    await expect(checkClone(work, ['origin'])).rejects.toThrow('replaces commits');
    git(work, 'replace', '-d', git(work, 'rev-parse', 'HEAD'));
    writeFileSync(join(work, '.git', 'info', 'grafts'), `${git(work, 'rev-parse', 'HEAD')}\n`);
    await expect(checkClone(work, ['origin'])).rejects.toThrow('replaces commits');
  });

  it('must have every ref of its remotes', async () => {
    const clone = mirror();
    for (const name of ['one', 'two', 'three', 'four']) {
      git(work, 'checkout', '-q', '-b', name, 'main');
      commit(`${name}.bin`);
      git(work, 'push', '-q', 'origin', name);
    }
    const failed = await checkClone(clone, ['origin']).catch((error: unknown) => error);
    expect(failed).toMatchObject({ message: expect.stringContaining('and 1 others') });
    expect(failed).toMatchObject({ hint: expect.stringContaining("fetch origin '+refs/*:refs/gc/*'") });
    git(clone, 'fetch', '-q', 'origin', '+refs/*:refs/gc/*');
    expect((await scan(clone)).size).toBe(6);
  });

  it('needs what a remote ref points to, though no ref of its own reaches it', async () => {
    const clone = mirror();
    git(work, 'checkout', '-q', '-b', 'other');
    commit('other.bin');
    git(work, 'push', '-q', 'origin', 'other');
    // The object is there, and nothing of the clone points to it.
    git(clone, 'fetch', '-q', 'origin', 'refs/heads/other:refs/tmp/other');
    git(clone, 'update-ref', '-d', 'refs/tmp/other');
    expect(await scan(clone)).toContain(oidOf('other.bin'));
  });

  it('must be one', async () => {
    await expect(checkClone(join(home, 'nowhere'), ['origin'])).rejects.toThrow("isn't a clone");
    await expect(checkClone(work, ['nobody'])).rejects.toThrow('failed');
    await expect(checkClone(work, ['--upload-pack=touch x'])).rejects.toThrow('failed');
  });

  it('that lacks an object is refused, and the scan ends', async () => {
    const blob = git(work, 'rev-parse', 'HEAD:second.bin');
    rmSync(join(work, '.git', 'objects', blob.slice(0, 2), blob.slice(2)));
    await expect(scanClone(work, { refs: [] })).rejects.toThrow(/lacks the object|failed/);
    await expect(
      scanClone(work, { refs: [{ name: 'refs/heads/none', commit: '0'.repeat(39) }] }),
    ).rejects.toThrow('failed');
  });
});
