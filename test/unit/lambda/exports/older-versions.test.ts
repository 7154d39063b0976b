import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cancelExportsOf } from '../../../../lambda/exports/start.ts';
import { type ExportStack, loadedStack } from '../../../support/export-stack.ts';
import { expectObjects } from './expect-archives.ts';

/** Frozen: what 9c5e6b46 stored, which kept CRC-32s for the next zip and explained plans in three ways. */
const stored = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../fixtures/9c5e6b46/exports.json'), 'utf8'),
);

const objects = new Map<string, Uint8Array>(
  Object.entries<string>(stored.files)
    .filter(([key]) => key.startsWith('acme/'))
    .map(([key, base64]) => [key.slice(-64), Buffer.from(base64, 'base64')]),
);

const older = (): Promise<ExportStack> => loadedStack(stored, 'half-done');
const crc32s = async (stack: ExportStack) => (await stack.left()).filter((key) => key.includes('/crc32/'));

describe('what an older version stored', () => {
  it('a zip that has hashed only what was new is made, in whichever round, and what was kept for it goes', async () => {
    const stack = await older();
    expect(await crc32s(stack)).toHaveLength(16);
    expect(await stack.job()).toMatchObject({ state: 'hashing', round: 3 });
    expect(await stack.run()).toMatchObject({ state: 'done', round: 4, failure: null });
    await expectObjects(stack, objects);
  });

  it('a dry run is read', async () => {
    const stack = await older();
    const job = await stack.jobs.read({ tenant: 'acme', exportId: 'explained' });
    expect(job).toMatchObject({ state: 'explained', planned: { way: 'copy-free', objectCount: 6 } });
  });

  it.each([
    ['stays with a tar', { format: 'tar' }, 16],
    ['goes with a zip', { format: 'zip' }, 0],
  ] as const)('what was kept of CRC-32s %s', async (_title, request, left) => {
    const stack = await older();
    stack.messages = [];
    await stack.start(request, 'next');
    await stack.run();
    expect(await crc32s(stack)).toHaveLength(left);
  });

  it('what was kept of CRC-32s goes with the tenant', async () => {
    const stack = await older();
    await cancelExportsOf(stack.deps, { tenant: 'acme' });
    await stack.run();
    expect(await stack.left()).toEqual([]);
  });
});
