import { beforeEach, describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { isReserved } from '../../../../../lambda/core/ledger/reservations.ts';
import { createRepo, proveKind } from '../../../../../lambda/frame/access/repos.ts';
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

describe('a repo of files', () => {
  it('is proven once it is created', async () => {
    expect(await create()).toMatchObject({ kind: 'created', record: { kind: 'files' } });
    expect(await read()).not.toHaveProperty('isUnproven');
    expect(await create()).toEqual({ kind: 'exists' });
  });

  it('is unproven until that is decided', async () => {
    stack.beforeNext('confirmKind', () => {
      throw new Error('It dies here.');
    });
    await expect(create()).rejects.toThrow('It dies here.');
    expect(await read()).toMatchObject({ kind: 'files', isUnproven: true });
    expect(await create()).toMatchObject({ kind: 'created', record: { kind: 'files' } });
  });

  it('is none where somebody pushes, and nothing is written', async () => {
    await pushFromBefore();
    expect(await create()).toEqual({ kind: 'exists' });
    expect((await read())?.createdAtMs).toBeUndefined();
  });

  it('for Git LFS is never unproven', async () => {
    const input = { tenant: await stack.record(), beganMs: stack.nowMs, repo };
    expect(await createRepo(stack.deps, input)).toMatchObject({ kind: 'created' });
    expect(await read()).not.toHaveProperty('isUnproven');
  });

  it('is created by whoever asks next, if the first function died in between', async () => {
    await write();
    expect(await read()).toMatchObject({ kind: 'files', isUnproven: true });
    expect(await create()).toMatchObject({ kind: 'created' });
    expect(await read()).not.toHaveProperty('isUnproven');
  });

  it('is none if a push of before has URLs, whoever finds out', async () => {
    for (const findOut of [create, () => proveKind(stack.deps, path)]) {
      stack = new MemoryStack();
      await stack.create();
      await pushFromBefore();
      await write();
      expect(await findOut()).toEqual(findOut === create ? { kind: 'exists' } : undefined);
      expect(await read()).not.toHaveProperty('kind');
      expect(await read()).not.toHaveProperty('isUnproven');
    }
  });

  it('is none if what the URLs brought was seen since', async () => {
    await stack.upload(repo, { [oid]: 5 });
    stack.nowMs += minute;
    const readRepo = stack.ledger.readRepo.bind(stack.ledger);
    await write();
    const ledger = Object.assign(Object.create(stack.ledger), {
      reservationsOf: async function* () {},
      readRepo: async (of: typeof path) => {
        const record = await readRepo(of);
        return record && { ...record, putsUntilMs: 1 };
      },
    });
    expect(await proveKind({ ledger }, path)).toBeUndefined();
    expect(await read()).not.toHaveProperty('kind');
  });

  it('stays proven, whatever lands late, and whatever is uploaded to it', async () => {
    await create();
    const record = await read();
    expect(await write()).toBe('done');
    const createdAtMs = record?.createdAtMs ?? 0;
    expect(await stack.ledger.dropKind({ ...path, createdAtMs })).toBe(false);
    expect(await stack.ledger.confirmKind({ ...path, createdAtMs })).toBe(false);
    await admitUpload(stack.deps, {
      tenant: await stack.record(),
      repo,
      objects: new Map([['a.txt', 5]]),
      files: new Map([['a.txt', {}]]),
    });
    expect(await isReserved(stack.ledger, path)).toBe(true);
    expect(await proveKind(stack.deps, path)).toEqual(record);
    expect(await read()).toEqual(record);
  });

  it('is decided once: of another creation nothing is', async () => {
    await write();
    const createdAtMs = stack.nowMs;
    expect(await stack.ledger.dropKind({ ...path, createdAtMs: createdAtMs + 1 })).toBe(false);
    stack.beforeNext('confirmKind', () => stack.ledger.dropKind({ ...path, createdAtMs }));
    expect(await proveKind(stack.deps, path)).toBeUndefined();
    expect(await read()).not.toHaveProperty('kind');
    // It's one of git-lfs from then on.
    expect(await create()).toEqual({ kind: 'exists' });
    expect(await write()).toBe('other-kind');
  });

  it('is proven by others meanwhile', async () => {
    await pushFromBefore();
    await write();
    const createdAtMs = stack.nowMs;
    stack.beforeNext('dropKind', () => stack.ledger.confirmKind({ ...path, createdAtMs }));
    expect(await proveKind(stack.deps, path)).toMatchObject({ kind: 'files' });
  });
});

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
