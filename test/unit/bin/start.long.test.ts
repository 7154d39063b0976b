import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { run } from '../../support/process.ts';

const root = path.join(import.meta.dirname, '../../..');
const folder = await mkdtemp(path.join(tmpdir(), 'lfs-quota-node-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** What `npm start` runs, under a Node that says to be another version. */
async function startAs(version: string, ...args: string[]) {
  const disguise = path.join(folder, `${version}.cjs`);
  await writeFile(disguise, `Object.defineProperty(process.versions, 'node', { value: '${version}' });\n`);
  const command = ['--require', disguise, path.join(root, 'bin', 'lfs-quota.js'), ...args];
  return await run(process.execPath, command, { cwd: root, env: {}, timeoutMs: 30_000 });
}

it.each(['16.20.2', '18.19.0', '20.18.3'])('says on Node %s which one it needs', async (version) => {
  expect(await startAs(version, '--help')).toEqual({
    code: 1,
    out: '',
    err: `error: Node ${version} is too old: lfs-quota needs >=20.19. Install a newer Node.\n`,
  });
});

it('starts on this Node', async () => {
  const ended = await startAs(process.versions.node, 'serve', '--demo', '--help');
  expect(ended).toMatchObject({ code: 0, err: '' });
  expect(ended.out).toContain('--port, --listen');
});
