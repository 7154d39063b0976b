import { describe, expect, it } from 'vitest';
import { UploadGoneError } from '../../../../../lambda/core/store/rules/archive-store.ts';
import { cancelExport } from '../../../../../lambda/subjects/exports/start.ts';
import type { ArchiveCall } from '../../../../support/memory/archive-store.ts';
import {
  ExportStack,
  type ExportStackOptions,
  exportPath,
} from '../../../../support/subjects/exports/export-stack.ts';

/** The export is done in its first round, whole, and nothing else is left. */
async function expectDone(stack: ExportStack): Promise<void> {
  const job = await stack.job();
  expect(job).toMatchObject({ state: 'done', isTidy: true, round: 1, failure: null });
  const [volume] = job.planned?.volumes ?? [];
  expect((await stack.archives.get(volume?.key ?? ''))?.length).toBe(volume?.sizeBytes);
  expect(await stack.left()).toEqual([volume?.key]);
  expect(stack.archives.openUploads).toEqual([]);
}

describe('an answer of the store that is lost', () => {
  it.each([
    ['an archive', /acme\.tar$/],
    ['a shard', /\/shards\//],
  ])('to the completion of %s does not begin the export anew', async (_title, keys) => {
    const stack = new ExportStack({ partsMax: 40 });
    await stack.storeMany(40, 1500);
    await stack.start();
    const complete = stack.archives.complete.bind(stack.archives);
    let lost = 0;
    stack.archives.complete = async (upload, parts) => {
      const completed = await complete(upload, parts);
      if (!keys.test(upload.key) || lost > 0) return completed;
      lost += 1;
      // The adapter has asked again.
      throw new UploadGoneError('The upload was completed or aborted.');
    };
    await stack.run();
    expect(lost).toBe(1);
    await expectDone(stack);
  });
});

describe('steps that run at the same time', () => {
  const stores: readonly [string, ExportStackOptions][] = [
    ['copies', {}],
    ['shards', { partsMax: 40 }],
    ['shards of parts of one size', { kind: 'r2', partsMax: 40 }],
  ];
  it.each(stores)('some of them twice, make one archive: %s', async (_title, options) => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const stack = new ExportStack({ ...options, seed });
      const { before } = stack.archives;
      stack.archives.before = async (call: ArchiveCall) => {
        for (let turns = stack.random.int(0, 6); turns > 0; turns -= 1) await Promise.resolve();
        before(call);
      };
      await stack.storeMany(20, 1500);
      await stack.start({ format: seed % 3 === 0 ? 'zip' : 'tar' });
      for (let steps = 0; stack.messages.length > 0; steps += 1) {
        if (steps > 3000) throw new Error(`Seed ${seed} does not end.`);
        const [message] = stack.messages;
        if (message && message.step.kind === 'unit' && stack.random.int(0, 1) === 0)
          stack.messages.splice(1, 0, message);
        await Promise.all([stack.deliver(), deliverLater(stack)]);
      }
      await expectDone(stack).catch((cause: unknown) => {
        throw new Error(`Seed ${seed}`, { cause });
      });
    }
  });
});

describe('an export that is cancelled while its steps run', () => {
  it.each(['tar', 'zip'] as const)('leaves nothing behind: %s', async (format) => {
    for (let seed = 1; seed <= 15; seed += 1) {
      const stack = new ExportStack({ seed, partsMax: 40 });
      await stack.storeMany(12, 1500);
      await stack.start({ format });
      let cancelAfter = stack.random.int(1, 300);
      const { before } = stack.archives;
      stack.archives.before = async (call: ArchiveCall) => {
        cancelAfter -= 1;
        if (cancelAfter === 0) void cancelExport(stack.deps, exportPath);
        for (let turns = stack.random.int(0, 6); turns > 0; turns -= 1) await Promise.resolve();
        before(call);
      };
      await Promise.all(Array.from({ length: 3 }, () => deliverAll(stack)));
      if (cancelAfter > 0) continue;
      expect(await stack.job()).toMatchObject({
        state: expect.stringMatching('cancelled|expired'),
        isTidy: true,
      });
      expect([seed, await stack.left(), stack.archives.openUploads]).toEqual([seed, [], []]);
    }
  });
});

async function deliverLater(stack: ExportStack): Promise<void> {
  for (let turns = stack.random.int(0, 300); turns > 0; turns -= 1) await Promise.resolve();
  await stack.deliver();
}

/** Delivers until there is nothing for a long time. */
async function deliverAll(stack: ExportStack): Promise<void> {
  for (let idleTurns = 0; idleTurns < 3000; idleTurns += 1) {
    if (stack.messages.length > 0) {
      await stack.deliver();
      idleTurns = 0;
    }
    await Promise.resolve();
  }
}
