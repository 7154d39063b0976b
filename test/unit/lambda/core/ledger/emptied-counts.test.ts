import { describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { endLapsed, requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { newEmptied } from '../../../../../lambda/core/ledger/rules/emptied.ts';
import { runDeletions } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { LargeRepoStack, oidOf, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;
const count = 12;

/** A repo of files of 10 bytes, counted. */
async function ofFiles({ isLarge }: { isLarge: boolean }): Promise<LargeRepoStack> {
  const stack = new LargeRepoStack({ largeRepoObjects: isLarge ? 4 : 1000, listRequestsPerHour: 1_000_000 });
  await stack.create(1_000);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
  stack.put(Object.fromEntries(Array.from({ length: count }, (_, index) => [`${repo}/${oidOf(index)}`, 10])));
  stack.nowMs += 9 * day;
  for (let counts = 0; counts < 2; counts += 1) await stack.reconcile('manual', true);
  expect((await stack.ledger.readRepo({ tenant, repo }))?.large !== undefined).toBe(isLarge);
  return stack;
}

/** Reconciles of what may have changed, for two days. None of them is one that counts everything. */
async function atRest(stack: LargeRepoStack) {
  for (const waitedMs of [5 * minute, 5 * minute, 2 * hour, 30 * hour, 5 * minute, 30 * hour, 5 * minute]) {
    stack.nowMs += waitedMs;
    await stack.reconcile('manual');
  }
  const record = await stack.ledger.readRepo({ tenant, repo });
  const keys = (await stack.keys()).filter((key) => key.startsWith(`${repo}/`));
  return {
    ...(await stack.usage()),
    objectCount: record?.objectCount,
    keys: keys.length,
  };
}

const counted = (objects: number, bytes = 10 * count) => ({
  committedBytes: bytes,
  storedBytes: bytes,
  objectCount: objects,
  keys: objects,
});

describe('the number of files', () => {
  it.each([true, false])(
    'holds one without bytes that came right before an empty object (large: %s)',
    async (isLarge) => {
      const stack = await ofFiles({ isLarge });
      await requestFileDeletion(stack.deps, { tenant, repo, objects: new Map([['zero', 0]]), onlyNew: true });
      const { putEmpty } = stack.objects;
      stack.objects.putEmpty = (key, options) => {
        stack.put({ [`${repo}/zero`]: 0 });
        return putEmpty.call(stack.objects, key, options);
      };
      await stack.reconcile('manual');
      stack.objects.putEmpty = putEmpty;
      expect(await atRest(stack)).toEqual(counted(count + 1));
    },
  );

  it.each([true, false])(
    'holds no empty object whose record was lost, once it was deleted (large: %s)',
    async (isLarge) => {
      const stack = await ofFiles({ isLarge });
      const { dueAtMs } = newEmptied(stack.deps.settings, { repo, names: ['lost'], byMs: stack.nowMs });
      stack.objects.put(`${tenant}/${repo}/lost`, 0, undefined, stack.nowMs, String(dueAtMs));
      stack.nowMs = dueAtMs + hour;
      // As after a restore of the table.
      await stack.reconcile('manual', true);
      await stack.reconcile('manual');
      expect((await stack.ledger.readRepo({ tenant, repo }))?.objectCount).toBe(count + 1);
      await requestFileDeletion(stack.deps, { tenant, repo, objects: new Map([['lost', 0]]) });
      expect(await atRest(stack)).toEqual(counted(count));
    },
  );

  it.each([true, false])(
    'holds no empty object that came while its place was listed (large: %s)',
    async (isLarge) => {
      const stack = await ofFiles({ isLarge });
      await requestFileDeletion(stack.deps, {
        tenant,
        repo,
        objects: new Map([['never', 10]]),
        onlyNew: true,
      });
      stack.nowMs += hour;
      // A reconcile that was frozen at its listing goes on while another function runs the deletion.
      const { listPage } = stack.objects;
      stack.objects.listPage = async (request) => {
        stack.objects.listPage = listPage;
        await runDeletions(stack.deps, { tenant, untilMs: stack.nowMs + minute, deletionCount: 1 });
        return listPage.call(stack.objects, request);
      };
      const { settings } = stack.deps;
      const { reconcile } = await import('../../../../../lambda/core/ledger/reconcile.ts');
      await reconcile({ ...stack.deps, settings }, { tenant, full: true, isThorough: true });
      expect.soft(await atRest(stack)).toEqual(counted(count));
      // Its name is free again.
      const outcome = await admitUpload(stack.deps, {
        tenant: await stack.record(),
        repo,
        objects: new Map([['never', 50]]),
        files: new Map([['never', {}]]),
      });
      expect(outcome.kind === 'answered' && outcome.verdicts.get('never')?.kind).toBe('upload');
      stack.put({ [`${repo}/never`]: 50 });
      expect(await atRest(stack)).toEqual(counted(count + 1, 10 * count + 50));
    },
  );

  it('holds no empty object whose function died before it said so', async () => {
    const stack = await ofFiles({ isLarge: false });
    await stack.ledger.markDirty({ tenant, repo, dirtyToken: 'x' });
    const { reconcile } = await import('../../../../../lambda/core/ledger/reconcile.ts');
    const { listPage } = stack.objects;
    stack.objects.listPage = async (request) => {
      stack.objects.listPage = listPage;
      const ledger = Object.create(stack.deps.ledger, {
        markDirty: { value: () => new Promise<never>(() => {}) },
      }) as typeof stack.deps.ledger;
      const unseen = new Map([[repo, new Set(['never'])]]);
      void endLapsed(
        { ...stack.deps, ledger },
        { tenant, entryCount: 0, unseen, untilMs: stack.nowMs + minute },
      );
      for (let turn = 0; turn < 50; turn += 1) await Promise.resolve();
      return listPage.call(stack.objects, request);
    };
    await reconcile(stack.deps, { tenant, full: false });
    expect(await atRest(stack)).toEqual(counted(count));
  });
});
