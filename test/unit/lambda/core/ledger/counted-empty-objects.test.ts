import { expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';

/** A repo of files in which somebody has claimed one of so many bytes. */
async function claiming(bytes: number): Promise<MemoryStack> {
  const stack = new MemoryStack({ objectBytesMax: 1000 });
  await stack.create(100);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
  await admitUpload(stack.deps, {
    tenant: await stack.record(),
    repo,
    objects: new Map([['a', bytes]]),
    files: new Map([['a', {}]]),
  });
  return stack;
}

it('empty objects that another scan counted are not counted for ever, if who put them died', async () => {
  const stack = await claiming(5);
  stack.nowMs += 60 * minute;
  const signal = () => {
    let resolve = () => {};
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    return { promise, resolve };
  };
  const [gate, reached] = [signal(), signal()];
  const { scan } = stack.deps;
  const gated: typeof scan = {
    scan: async (input) => {
      reached.resolve();
      await gate.promise;
      return scan.scan(input);
    },
  };
  let other: Promise<unknown> | undefined;
  // Another reconcile has read the records of empty objects by then, and lists once the object is there.
  stack.beforeNext('putEmptied', async () => {
    other = reconcile({ ...stack.deps, scan: gated }, { tenant, full: false });
    await reached.promise;
  });
  const { store } = stack.deps;
  const putEmpty: typeof store.putEmpty = async (...args) => {
    await store.putEmpty(...args);
    gate.resolve();
    await other;
    throw new Error('It dies here.');
  };
  const request = { tenant, reason: 'delete', full: false } as const;
  const dying = { ...stack.deps, store: { ...store, putEmpty } };
  const run = runReconcile(dying, { request, deadlineMs: stack.nowMs + 14 * minute });
  await expect(run).rejects.toThrow('It dies here.');
  await stack.consume();
  expect((await stack.record()).scanned).toMatchObject({ storedBytes: 0, objectCount: 0 });
});

it('a file without bytes counts by an ordinary reconcile once a record that names it is gone', async () => {
  const stack = await claiming(0);
  await requestFileDeletion(stack.deps, { tenant, repo, objects: new Map([['a', 0]]), onlyNew: true });
  // It arrives after the deletion has looked for it.
  stack.beforeNext('putEmptied', () => stack.objects.put(`${tenant}/${repo}/a`, 0, undefined, stack.nowMs));
  for (let hours = 0; hours < 30; hours += 1) {
    await stack.consume();
    stack.nowMs += 60 * minute;
  }
  await stack.consume();
  expect(await allPages(stack.ledger.emptied({ tenant }))).toEqual([]);
  expect(stack.objects.keysBelow(`${tenant}/`)).toEqual([`${tenant}/${repo}/a`]);
  expect((await stack.record()).scanned?.objectCount).toBe(1);
});
