import { beforeEach, describe, expect, it } from 'vitest';
import { findRepo } from '../../../../../lambda/use-cases/repos/find-repo.ts';
import { MemoryStack, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';

describe('a repo', () => {
  let world: MemoryStack;
  const find = async (repo: string) => findRepo(world.deps, { tenant: await world.record(), repo });

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create();
  });

  it('is found if it was created', async () => {
    await world.ledger.createRepo({ tenant, repo: 'app', createdAtMs: 5 });
    expect(await find('app')).toMatchObject({ repo: 'app', createdAtMs: 5 });
  });

  it('is found in the bucket before it is counted, by its whole name', async () => {
    world.put({ [`web/${oidOf(1)}`]: 1 });
    expect(await find('web')).toMatchObject({ repo: 'web', epoch: 0 });
    expect(await find('we')).toBeUndefined();
    // What the ledger has of it is kept.
    await world.ledger.markDirty({ tenant, repo: 'web', dirtyToken: 'changed' });
    expect(await find('web')).toMatchObject({ dirtyToken: 'changed' });
  });

  it('is found while it is being deleted, or has a limit', async () => {
    await world.ledger.closeRepo({ tenant, repo: 'old', closedAtMs: 5 });
    expect(await find('old')).toMatchObject({ closedAtMs: 5 });
    await world.ledger.markDirty({ tenant, repo: 'limited', dirtyToken: 'changed' });
    expect(await find('limited')).toBeUndefined();
    await setRepoLimit(world.ledger, { tenant, repo: 'limited', limitBytes: 5 });
    expect(await find('limited')).toMatchObject({ repo: 'limited' });
  });
});
