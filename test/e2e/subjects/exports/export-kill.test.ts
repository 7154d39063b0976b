import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../../../support/describe-with.ts';
import { bytesOf } from '../../../support/payload.ts';
import { Random } from '../../../support/random.ts';
import { archiveTools, pythonHashes, runTool } from '../../../support/subjects/exports/archive-tools.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';
import { Stack } from '../../stack.ts';
import { importInto } from '../../store-truth.ts';
import { downloadArchive, endOfExport, readExport, startExport } from './exports.ts';
import { listExports } from './list-exports.ts';

const mib = 1024 ** 2;
const killsMin = 8;

describeWith({ title: 'a server that is killed during exports', ...archiveTools }, () => {
  const tempFolder = useTempFolders();
  const random = new Random(20261122);
  const sizes = [1, 5 * mib - 1, 5 * mib, 5 * mib + 1, 13 * mib];
  for (let index = 0; index < 20; index += 1) sizes.push(random.int(1, 8 * mib));
  const objects = new Map(
    sizes.map((size, index) => {
      const bytes = bytesOf(`killed export ${index}`, size);
      return [createHash('sha256').update(bytes).digest('hex'), bytes];
    }),
  );
  let stack: Stack;

  beforeAll(async () => {
    stack = await Stack.start();
    await stack.cliJson('tenant', 'create', 'acme', '--limit', '1GiB');
    await importInto(stack, 'acme/game', objects);
  });
  afterAll(() => Stack.closeAll());

  it('ends them all, whole, and leaves nothing else behind', { timeout: 300_000 }, async () => {
    const formats = ['tar', 'zip', 'tar'] as const;
    const states: string[] = [];
    const exportIds: string[] = [];
    for (let kills = 0; kills < killsMin; kills += 1) {
      // Each export begins with the server on which an earlier one goes on.
      const format = formats[exportIds.length];
      if (format && kills % 3 === 0) exportIds.push(await startExport(stack, 'acme', format));
      await sleep(random.int(0, 600));
      states.push((await readExport(stack, 'acme', exportIds.at(-1) ?? '')).state);
      await stack.kill();
      await stack.start();
    }
    for (const [index, exportId] of exportIds.entries()) {
      // Nobody waits for the lease of a process that is dead: it would last for a minute.
      const ended = await endOfExport(stack, { tenant: 'acme', exportId, idleMaxMs: 40_000 });
      expect(ended).toMatchObject({ state: 'done', failure: null, plan: { objectCount: objects.size } });
      const folder = tempFolder();
      const file = join(folder, `export.${formats[index]}`);
      writeFileSync(file, await downloadArchive(ended));
      const hashes: Record<string, string> = JSON.parse(
        await runTool(folder, 'python3', '-c', pythonHashes, file),
      );
      const found = Object.entries(hashes).filter(([name]) => name.startsWith('lfs/objects/'));
      expect(found.map(([name]) => name.slice(-64)).sort()).toEqual([...objects.keys()].sort());
      for (const [name, sha256] of found) expect(name.slice(-64)).toBe(sha256);
    }
    const archives = () => listExports(stack);
    // The record says `done` just before the rest is removed.
    await expect
      .poll(archives, { timeout: 60_000, interval: 250 })
      .toEqual({ keys: [expect.any(String), expect.any(String), expect.any(String)], uploads: [] });
    const { keys } = await archives();
    expect(keys.map((key) => key.split('/')[2])).toEqual([...exportIds].sort());
    expect(keys.map((key) => key.replace(/^.*\//, '')).sort()).toEqual(['acme.tar', 'acme.tar', 'acme.zip']);
  });
});
