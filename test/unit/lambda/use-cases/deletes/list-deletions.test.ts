import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Input } from '../../../../../lambda/adapters/dynamodb/ledger.ts';
import { newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { listDeletions } from '../../../../../lambda/use-cases/deletes/list-deletions.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { CountingDeps } from '../../../../support/memory/counting-deps.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const [one, two] = [oidOf(1), oidOf(2)];

describe('a deletion in the list', () => {
  let world: MemoryStack;
  const mark = (repo: string, oid: string) => markObject(world.deps, { tenant, repo, oid, dryRun: false });
  const list = async (more: Partial<Input<'listDeletions'>> = {}) =>
    (await listDeletions(world.deps, { tenant, pageSize: 100, ...more })).deletions;

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ [`game/${one}`]: 10, [`game/${two}`]: 20, [`art/${one}`]: 10 });
    await world.create(100);
  });

  it('is marked until it is due, says until when, and is gone with its object', async () => {
    expect(await list()).toEqual([]);
    const dueAtMs = world.nowMs + hour;
    await mark('game', one);
    const marked = { repo: 'game', oid: one, sizeBytes: 10, state: 'marked', dueAtMs };
    expect(await list()).toEqual([marked]);
    world.nowMs += hour;
    expect(await list()).toEqual([marked]);
    await world.consume();
    expect(await list()).toEqual([]);
    expect(await world.deletions()).toMatchObject([{ state: 'gone' }]);
  });

  it('is deleting once somebody deletes it', async () => {
    await mark('game', one);
    await world.claim(await world.deletion());
    expect(await list()).toMatchObject([{ oid: one, state: 'deleting' }]);
  });

  it('is called off by a push that names it', async () => {
    await mark('game', one);
    await mark('game', two);
    await world.push('game', { [one]: 10 });
    expect((await list()).map(({ oid }) => oid)).toEqual([two]);
  });

  it('is not one of a whole repo, nor of a clean-up', async () => {
    const watch = { id: 'w', openedAtMs: world.nowMs, untilMs: world.nowMs + hour };
    await world.ledger.openWatch({ tenant, repo: 'game', watch, nowMs: world.nowMs });
    await world.mark({ [one]: 10 }, { id: 'closing', repo: 'game', closedAtMs: 5 });
    await world.mark({ [one]: 10 }, { id: 'gc-1', repo: 'game', sweep: { watchId: 'w', seenFromMs: 1 } });
    expect(await list()).toEqual([]);
  });

  it('is not shown while its repo is deleted, nor once the repo was opened anew: it deletes nothing then', async () => {
    await mark('game', one);
    const deletion = await world.deletion();
    await world.ledger.closeRepo({ tenant, repo: 'game', closedAtMs: world.nowMs });
    expect(await list()).toEqual([]);
    await world.consume();
    world.nowMs += 2 * minute;
    await world.consume();
    await world.ledger.putDeletion({ tenant, deletion: { ...deletion, id: 'late' } });
    expect(await list()).toEqual([]);
    world.put({ [`game/${one}`]: 10 });
    await mark('game', one);
    expect(await list()).toMatchObject([{ repo: 'game', oid: one }]);
  });

  it('stands on one page, of the tenant or of one repo', async () => {
    await mark('game', one);
    await mark('game', two);
    await mark('art', one);
    const first = await listDeletions(world.deps, { tenant, pageSize: 2 });
    expect(first.deletions.map(({ repo }) => repo)).toEqual(['art', 'game']);
    if (!first.next) throw new Error('There is another page.');
    const second = await listDeletions(world.deps, { tenant, pageSize: 2, after: first.next });
    expect([second.deletions.map(({ repo }) => repo), second.next]).toEqual([['game'], null]);
    expect((await list({ repo: 'game' })).map(({ repo }) => repo)).toEqual(['game', 'game']);
    expect(await list({ repo: 'other' })).toEqual([]);
    expect(await list({ repo: 'game', after: first.next })).toEqual(second.deletions);
  });

  it('is listed from the cursor of another repo without that cursor: DynamoDB refuses one beyond the end', async () => {
    await mark('game', one);
    await mark('art', one);
    const asked = vi.spyOn(world.ledger, 'listDeletions');
    const after = { repo: 'art', deletionId: '0' };
    expect((await list({ repo: 'game', after })).map(({ repo }) => repo)).toEqual(['game']);
    expect(asked.mock.calls).toEqual([[{ tenant, repo: 'game', pageSize: 100 }]]);
    asked.mockClear();
    for (const repo of ['zoo', 'game-2'])
      expect(await list({ repo: 'art', after: { ...after, repo } })).toEqual([]);
    expect(asked).not.toHaveBeenCalled();
  });
});

it('a page of deletions takes one query and one read for each repo on it', async () => {
  const counting = new CountingDeps({ tableMs: 1, headMs: 1, listMs: 1 });
  const { ledger, deps } = counting;
  await ledger.createTenant(newTenant(tenant));
  for (let index = 0; index < 50; index += 1) {
    const objects = new Map([[oidOf(index), 1]]);
    const [id, repo] = [`d${index}`, `repo${index % 5}`];
    const deletion = newDeletion({ id, repo, objects, dueAtMs: 9e15, afterClosingMs: 0 });
    await ledger.putDeletion({ tenant, deletion });
  }
  const { result } = await counting.measure(() => listDeletions(deps, { tenant, pageSize: 20 }));
  expect(result.deletions).toHaveLength(20);
  expect(counting.calls.map(({ name }) => name)).toEqual(['listDeletions', 'readRepo', 'readRepo']);
});
