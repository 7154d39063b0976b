import { beforeEach, describe, expect, it } from 'vitest';
import { deleteRepo } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { createRepo } from '../../../../../lambda/use-cases/repos/create-repo.ts';
import { findRepo } from '../../../../../lambda/use-cases/repos/find-repo.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

describe('a repo that is created', () => {
  let world: MemoryStack;
  const create = async (repo: string, limitBytes?: number | null) =>
    createRepo(world.deps, {
      tenant: await world.record(),
      beganMs: world.nowMs,
      repo,
      limitBytes,
    });
  const find = async (repo: string) => findRepo(world.deps, { tenant: await world.record(), repo });

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('is there with nothing in it', async () => {
    expect(await find('app')).toBeUndefined();
    expect(await create('app')).toMatchObject({ kind: 'created', record: { repo: 'app', objectCount: 0 } });
    expect(await find('app')).toMatchObject({ repo: 'app', createdAtMs: world.nowMs });
    expect((await world.record()).repoLimits.size).toBe(0);
  });

  it('has its limit from the beginning', async () => {
    const outcome = await create('app', 5);
    expect(outcome.kind === 'created' && outcome.tenant.repoLimits.get('app')?.limitBytes).toBe(5);
  });

  it('exists already if it was created or has objects', async () => {
    await create('app');
    expect(await create('app', 5)).toEqual({ kind: 'exists' });
    expect((await world.record()).repoLimits.size).toBe(0);
    world.put({ [`web/${oidOf(1)}`]: 1 });
    await world.consume({ full: true });
    expect(await create('web')).toEqual({ kind: 'exists' });
  });

  it('is not there any more once it was deleted, until it is created again', async () => {
    await create('app');
    await deleteRepo(world.deps, { tenant, repo: 'app', dryRun: false });
    expect(await create('app')).toEqual({ kind: 'closed' });
    expect(await find('app')).toMatchObject({ repo: 'app' });
    await world.pass(60 * minute);
    expect(await find('app')).toBeUndefined();
    expect(await create('app')).toMatchObject({ kind: 'created' });
  });

  it('is found without being created if objects of it are in the bucket', async () => {
    world.put({ [`web/${oidOf(1)}`]: 1 });
    expect(await find('web')).toMatchObject({ repo: 'web', epoch: 0 });
    expect(await find('we')).toBeUndefined();
  });

  it('is not limited if as many as may be are', async () => {
    for (let index = 0; index < 50; index += 1) await create(`r${index}`, 5);
    expect(await create('one-more', 5)).toEqual({ kind: 'too-many' });
    expect(await create('one-more')).toMatchObject({ kind: 'created' });
  });

  it('is told of a delete of its name that began meanwhile', async () => {
    const { ledger } = world;
    const { readRepo } = ledger;
    ledger.readRepo = async (path) => {
      const found = await readRepo.call(ledger, path);
      await ledger.closeRepo({ ...path, closedAtMs: world.nowMs });
      return found;
    };
    expect(await create('app')).toEqual({ kind: 'closed' });
  });

  it('that the ledger loses is an error', async () => {
    world.ledger.readRepo = async () => undefined;
    await expect(create('app')).rejects.toThrow(`The repo ${tenant}/app vanished`);
  });
});
