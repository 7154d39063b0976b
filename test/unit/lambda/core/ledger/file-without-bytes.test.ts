import { expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';

it('a file without bytes counts by an ordinary reconcile once a record that names it is gone', async () => {
  const stack = new MemoryStack({ objectBytesMax: 1000 });
  await stack.create(100);
  await stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });
  await admitUpload(stack.deps, {
    tenant: await stack.record(),
    repo,
    objects: new Map([['a', 0]]),
    files: new Map([['a', {}]]),
  });
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
