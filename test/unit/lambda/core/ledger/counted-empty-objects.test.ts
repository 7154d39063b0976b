import { expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';

it('empty objects that another scan counted are not counted for ever, if who put them died', async () => {
  const stack = new MemoryStack({ objectBytesMax: 1000 });
  await stack.create(100);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
  await admitUpload(stack.deps, {
    tenant: await stack.record(),
    repo,
    objects: new Map([['a', 5]]),
    files: new Map([['a', {}]]),
  });
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
