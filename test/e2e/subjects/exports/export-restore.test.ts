import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import type { GitUser } from '../../../support/git-user.ts';
import { bytesOf, digests, type Files, objectsOf, readFiles, writeFiles } from '../../../support/payload.ts';
import { runTool } from '../../../support/subjects/exports/archive-tools.ts';
import { Stack } from '../../stack.ts';
import { createAcme, describeWithGitLfs } from '../../with-git-lfs.ts';
import { downloadArchive, endOfExport, startExport } from './exports.ts';
import { listExports } from './list-exports.ts';

const mib = 1024 ** 2;

/** Around the smallest part of an upload, larger ones, which are copied, and small ones. */
function filesOf(version: string): Files {
  const sizes = [1, 5 * mib - 1, 5 * mib, 5 * mib + 1, 13 * mib];
  for (let index = 0; index < 20; index += 1) sizes.push(2 + index * 977);
  for (let index = 0; index < 4; index += 1) sizes.push(2_000_003 + index * 1_900_001);
  return new Map(
    sizes.map((size, index) => [`folder ${index % 3}/${index}.bin`, bytesOf(`${version} ${index}`, size)]),
  );
}

// The commands of docs/migrate.md.
const extractors = {
  tar: ['tar', '-x', '-C', '.git', '-f'],
  zip: ['unzip', '-q', '-d', '.git'],
} as const;

describeWithGitLfs('an export of what was pushed', () => {
  const [before, after] = [filesOf('before'), filesOf('after')];
  let stack: Stack;
  let user: GitUser;
  let remote: string;

  beforeAll(async () => {
    stack = await Stack.start();
    const acme = await createAcme(stack, '1GiB');
    ({ user, remote } = acme);
    for (const [message, files] of [
      ['before', before],
      ['after', after],
    ] as const) {
      await writeFiles(acme.workTree, files);
      await user.commitAll(acme.workTree, message);
    }
    await user.git(acme.workTree, 'push', '--quiet', 'origin', 'main');
    for (const format of ['tar', 'zip'] as const) {
      const exportId = await startExport(stack, 'acme', format);
      const ended = await endOfExport(stack, { tenant: 'acme', exportId, idleMaxMs: 60_000 });
      expect(ended).toMatchObject({ state: 'done', archives: [{ name: `acme.${format}` }] });
      expect(ended.plan?.objectCount).toBe(new Map([...objectsOf(before), ...objectsOf(after)]).size);
      // Otherwise nothing would be proven of copies.
      expect(ended.plan?.copiedBytes).toBeGreaterThan(20 * mib);
      writeFileSync(join(user.home, `export.${format}`), await downloadArchive(ended));
    }
    // Only the archives are left.
    const left = await listExports(stack);
    expect(left.keys.map((key) => key.replace(/^.*\//, ''))).toEqual(['acme.tar', 'acme.zip']);
    expect(left.uploads).toEqual([]);
    await stack.stop();
  }, 150_000);

  it.each(['tar', 'zip'] as const)('as %s makes a clone complete, without any server', async (format) => {
    const clone = join(user.home, `clone-${format}`);
    const cloned = await user.tryGit(user.home, ['clone', '--quiet', remote, clone], {
      GIT_LFS_SKIP_SMUDGE: '1',
    });
    expect(cloned.code).toBe(0);
    expect(readFileSync(join(clone, 'folder 0', '0.bin'), 'utf8')).toMatch(/^version https:\/\/git-lfs/);

    const [command, ...args] = extractors[format];
    await runTool(clone, command, ...args, `../export.${format}`);
    await user.git(clone, 'lfs', 'checkout');
    expect(digests(await readFiles(clone))).toEqual(digests(after));
    expect((await user.git(clone, 'lfs', 'fsck')).out).toMatch(/Git LFS fsck OK/);
    expect((await user.git(clone, 'status', '--porcelain')).out).toBe('');
    // What only an older commit has is there too.
    await user.git(clone, 'checkout', '--quiet', 'HEAD~1');
    expect(digests(await readFiles(clone))).toEqual(digests(before));
  });
});
