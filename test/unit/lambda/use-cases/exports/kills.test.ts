import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { keptCrc32Key } from '../../../../../lambda/domain/export/export-keys.ts';
import { cancelExportsOf } from '../../../../../lambda/use-cases/exports/cancel-export.ts';
import { keepCrc32s } from '../../../../../lambda/use-cases/exports/kept-crc32s.ts';
import { runExportStep } from '../../../../../lambda/use-cases/exports/run-step.ts';
import { wholeTenant } from '../../../../support/export-request.ts';
import { ExportStack, exportPath } from '../../../../support/export-stack.ts';
import type { ArchiveCall } from '../../../../support/memory/archive-store.ts';
import { expectObjects, killedRun } from './expect-archives.ts';

describe('an export with kills', () => {
  it.each(['tar', 'zip'] as const)('%s: a kill at each call of a step', async (format) => {
    const make = async () => {
      const stack = new ExportStack({ partsMax: 20 });
      const stored = await stack.storeMany(3, 900, ['app', 'web']);
      await stack.start({ format });
      return { stack, stored };
    };
    const whole = await make();
    const before = whole.stack.calls;
    await whole.stack.run();
    const archives = await expectObjects(whole.stack, whole.stored);
    const calls = whole.stack.calls - before;
    expect(calls).toBeGreaterThan(100);
    for (let kill = 0; kill < calls; kill += 1) {
      const { stack, stored } = await make();
      stack.callsToLive = kill;
      await killedRun(stack);
      expect(stack.kills, `at call ${kill}`).toBeLessThanOrEqual(1);
      expect(await expectObjects(stack, stored)).toEqual(archives);
    }
  });

  it('200 exports, each step of which may be killed', async () => {
    let kills = 0;
    for (let seed = 0; seed < 200; seed += 1) {
      const kind = seed % 2 === 0 ? 's3' : 'r2';
      const stack = new ExportStack({ seed, kind, partsMax: seed % 4 < 2 ? 10_000 : 30 });
      const stored = await stack.storeMany(stack.random.int(0, 8), 900, ['app', 'web']);
      await stack.start({ format: seed % 3 === 0 ? 'zip' : 'tar' });
      for (let steps = 0; stack.messages.length > 0; steps += 1) {
        if (stack.random.int(0, 2) === 0) stack.callsToLive = stack.random.int(0, 50);
        await stack.deliver({ isRandom: true });
        if (steps > 3000) throw new Error(`Seed ${seed} does not end.`);
        // Messages come twice.
        const message = stack.messages[0];
        if (message && stack.random.int(0, 9) === 0) stack.messages.push(message);
      }
      kills += stack.kills;
      await expectObjects(stack, stored);
    }
    expect(kills).toBeGreaterThan(200);
  });
});

describe('the CRC-32 of a tenant', () => {
  const keptKeys = Array.from({ length: 16 }, (_, file) => keptCrc32Key(exportPath, file));

  it('stay right, whichever call of a zip is the last of its function', async () => {
    const make = async () => {
      const stack = new ExportStack();
      const stored = await stack.storeMany(2, 600);
      await keepAll(stack, stored);
      const bytes = Buffer.from('this one is new');
      stored.set(await stack.store('app', bytes), bytes);
      // Of a repo: a zip of a whole tenant writes all files.
      await stack.start({ format: 'zip', repo: 'app' });
      return { stack, stored };
    };
    const whole = await make();
    const before = whole.stack.calls;
    await whole.stack.run();
    const archives = await expectObjects(whole.stack, whole.stored);
    const kept = await Promise.all(keptKeys.map((key) => whole.stack.archives.get(key)));
    const calls = whole.stack.calls - before;
    expect(calls).toBeGreaterThan(100);
    for (let kill = 0; kill < calls; kill += 1) {
      const { stack, stored } = await make();
      stack.callsToLive = kill;
      await killedRun(stack);
      expect(await expectObjects(stack, stored)).toEqual(archives);
      expect(await Promise.all(keptKeys.map((key) => stack.archives.get(key)))).toEqual(kept);
    }
  });

  it('are removed with it, wherever the zip is that finds them', async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const stack = new ExportStack({ seed });
      await stack.storeMany(4, 900);
      await stack.start({ format: 'zip' });
      let deleteAfter = stack.random.int(1, 150);
      const { before } = stack.archives;
      stack.archives.before = async (call: ArchiveCall) => {
        deleteAfter -= 1;
        if (deleteAfter === 0) {
          await stack.beside(async () => {
            await cancelExportsOf(stack.deps, { tenant: 'acme' });
            // The step that removes what is kept comes while the zip is still made.
            const message = stack.messages.pop();
            if (message) await runExportStep(stack.deps, { message, deadlineMs: Number.MAX_SAFE_INTEGER });
          });
        }
        before(call);
      };
      if (stack.random.int(0, 1) === 0) stack.callsToLive = stack.random.int(1, 150);
      await killedRun(stack);
      if (deleteAfter > 0) await cancelExportsOf(stack.deps, { tenant: 'acme' });
      await stack.run();
      expect([seed, await stack.kept(), await stack.left()]).toEqual([seed, [], []]);
    }
  });
});

/** Keeps the CRC-32 of all objects, as a zip does. */
async function keepAll(stack: ExportStack, stored: ReadonlyMap<string, Uint8Array>) {
  const objects = await Promise.all(
    [...stored.keys()].sort().map(async (oid) => {
      const key = `acme/app/${oid}`;
      return { oid, key, ...((await stack.archives.head(key)) ?? { sizeBytes: 0, etag: '' }) };
    }),
  );
  const crc32Of = ({ oid }: { oid: string }) => crc32(stored.get(oid) ?? '');
  await keepCrc32s(stack.deps, { job: { tenant: 'acme', request: wholeTenant }, objects, crc32Of });
}
