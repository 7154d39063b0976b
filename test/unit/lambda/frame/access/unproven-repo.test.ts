import { beforeEach, describe, expect, it } from 'vitest';
import { createRepo } from '../../../../../lambda/frame/access/repos.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';

const repo = 'media';
const path = { tenant, repo };
const oid = 'a'.repeat(64);

let stack: MemoryStack;
beforeEach(async () => {
  stack = new MemoryStack();
  await stack.create();
});

const create = async () =>
  createRepo(stack.deps, { tenant: await stack.record(), beganMs: stack.nowMs, repo, kind: 'files' });
/** As far as a function that dies then gets. */
const write = () =>
  stack.ledger.createRepo({ ...path, createdAtMs: stack.nowMs, kind: 'files', isUnproven: true });
const read = () => stack.ledger.readRepo(path);
/** A push with git-lfs that read the repo before, and has its URLs by now. */
async function pushFromBefore(): Promise<void> {
  expect(await stack.kinds(repo, { [oid]: 5 })).toBe('upload');
}

describe('a repo that is unproven', () => {
  it('gets no empty object where a push of before may still store one, and takes it afterwards', async () => {
    await pushFromBefore();
    await write();
    // Whoever made it has died. The upload breaks off.
    for (let minutes = 0; minutes < 120; minutes += 10) {
      stack.nowMs += 10 * minute;
      await stack.consume();
    }
    expect(await create()).toEqual({ kind: 'exists' });
    expect(await read()).not.toHaveProperty('kind');
    expect(stack.objects.keysBelow(`${tenant}/`)).toEqual([]);
    expect(await stack.kinds(repo, { [oid]: 5 })).toBe('upload');
  });
});
