import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cancelExportsOf } from '../../../../../lambda/subjects/exports/start.ts';
import { type ExportStack, loadedStack } from '../../../../support/subjects/exports/export-stack.ts';
import { expectObjects } from './expect-archives.ts';

const read = (commit: string) =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../../../fixtures/${commit}/exports.json`), 'utf8'));

/** Frozen: what 9c5e6b46 stored, which kept CRC-32s for the next zip and explained plans in three ways. */
const stored = read('9c5e6b46');

const objectsOf = ({ files }: { files: Record<string, string> }) =>
  new Map<string, Uint8Array>(
    Object.entries(files)
      .filter(([key]) => key.startsWith('acme/'))
      .map(([key, base64]) => [key.slice(-64), Buffer.from(base64, 'base64')]),
  );

const older = (): Promise<ExportStack> => loadedStack(stored, 'half-done');
const crc32s = async (stack: ExportStack) => (await stack.left()).filter((key) => key.includes('/crc32/'));

describe('what an older version stored', () => {
  it('a zip whose objects were hashed first is planned at once, in whichever round, and what was kept for it goes', async () => {
    const stack = await older();
    expect(await crc32s(stack)).toHaveLength(16);
    expect(await stack.job()).toMatchObject({ state: 'planning', round: 3 });
    await stack.deliver();
    expect(await stack.job()).toMatchObject({ state: 'copying', round: 3 });
    expect(await stack.run()).toMatchObject({ state: 'done', round: 3, failure: null });
    await expectObjects(stack, objectsOf(stored));
  });

  // Frozen: what 36dc936a stored, which knew all CRC-32s before it planned the parts.
  const known = read('36dc936a');

  it('a zip whose CRC-32s are in its orders is gone on with', async () => {
    const stack = await loadedStack(known, 'half-done');
    const job = await stack.job();
    const [volume] = job.planned?.volumes ?? [];
    // Its upload, before a part was made.
    expect(await stack.archives.createUpload(volume?.key ?? '')).toMatchObject(
      volume ? { uploadId: volume.uploadId } : {},
    );
    await stack.jobs.change(job, (now) => ({ ...now, doneUnits: '' }));
    const [message] = stack.messages;
    if (message?.step.kind !== 'unit') throw new Error('There is no unit.');
    stack.messages.push({ ...message, step: { ...message.step, unit: 0 } });
    expect(await stack.run()).toMatchObject({ state: 'done', round: 1, failure: null });
    await expectObjects(stack, objectsOf(known));
  });

  it('a zip whose upload is gone is planned anew', async () => {
    const stack = await loadedStack(known, 'half-done');
    expect(await stack.job()).toMatchObject({ state: 'copying', round: 1, doneUnits: '1' });
    expect(await stack.run()).toMatchObject({ state: 'done', round: 2, failure: null });
    await expectObjects(stack, objectsOf(known));
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
