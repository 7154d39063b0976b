import { beforeEach, describe, expect, it, vi } from 'vitest';
import { newDeletion } from '../../../../../lambda/domain/deletion.ts';
import { StoreUnavailableError } from '../../../../../lambda/ports/object-store.ts';
import { markObject } from '../../../../../lambda/use-cases/deletes/delete-objects.ts';
import { keepFromDeletion } from '../../../../../lambda/use-cases/uploads/keep-from-deletion.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'game';
let world: MemoryStack;

describe('deletes in a store that answers none', () => {
  beforeEach(() => {
    world = new MemoryStack({ deleteGraceMs: 0 });
    world.beforeDelete = () => {
      throw new StoreUnavailableError('No answer.');
    };
  });

  it('stop after the first one in a run, and the others are tried before it in the next run', async () => {
    const oids = Array.from({ length: 300 }, (_, index) => oidOf(index));
    world.put(Object.fromEntries(oids.map((oid) => [`${repo}/${oid}`, 1])));
    await world.create();
    for (const oid of oids) await markObject(world.deps, { tenant, repo, oid, dryRun: false });
    await world.consume();
    expect((await world.record()).notes.size).toBe(1);
    const stuck = (await world.deletions()).find(({ state }) => state === 'deleting');
    expect(await world.isDue()).toBe(true);
    world.nowMs += 2 * minute;
    const tried: string[] = [];
    world.beforeDelete = (key) => void tried.push(key);
    await world.consume();
    expect(tried).toHaveLength(300);
    expect(tried.at(-1)).toBe(`${tenant}/${repo}/${[...(stuck?.objects.keys() ?? [])][0]}`);
    expect((await world.record()).notes.size).toBe(0);
  });

  it('stop after the first repo, if many are emptied', async () => {
    const repos = Array.from({ length: 20 }, (_, index) => `repo-${index}`);
    world.put(Object.fromEntries(repos.map((name) => [`${name}/x`, 1])));
    await world.create();
    for (const name of repos) await world.ledger.closeRepo({ tenant, repo: name, closedAtMs: world.nowMs });
    await world.consume();
    expect((await world.record()).notes.size).toBe(1);
    expect(await world.isDue()).toBe(true);
  });
});

describe('notes of deletes that died', () => {
  it('are removed a hundred in a commit, however many there are', async () => {
    world = new MemoryStack();
    world.put({ [`${repo}/a`]: 10 });
    await world.create(100);
    const note = { repo, bytes: 1, deadlineMs: world.nowMs };
    for (let index = 0; index < 2000; index += 1)
      await world.ledger.announceDelete({ tenant, noteId: `note${index}`.padEnd(12, 'x'), note });
    world.nowMs += 2 * minute;
    for (let left = 2000; left > 0; left -= 100) {
      expect((await world.record()).notes.size).toBe(left);
      expect(await world.consume()).toBe('done');
      const { committedBytes, floorBaseBytes, deletedBytes } = await world.record();
      expect([committedBytes, floorBaseBytes - deletedBytes]).toEqual([10, 10 - left]);
    }
    await world.consume();
    const { notes, floorBaseBytes, deletedBytes } = await world.record();
    expect([notes.size, floorBaseBytes - deletedBytes]).toEqual([0, 10]);
  });
});

describe('a batch that asks for a thousand marked objects', () => {
  const names = new Map(Array.from({ length: 1000 }, (_, index) => [oidOf(index), 1]));
  const deletion = newDeletion({ id: 'd1', repo, objects: names, dueAtMs: 0 });
  const keep = () => keepFromDeletion(world.deps, { tenant, repo, deletionCount: 0, names, stored: names });

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create();
    await world.ledger.putDeletion({ tenant, deletion });
  });

  it('takes all of them out of their deletion', async () => {
    expect(await keep()).toBe('kept');
    expect(await world.deletions()).toMatchObject([{ objects: new Map() }]);
  });

  it('is told that they are being deleted if a deleter comes between', async () => {
    const { unmark } = world.ledger;
    vi.spyOn(world.ledger, 'unmark').mockImplementationOnce(async (input) => {
      const outcome = await unmark.call(world.ledger, input);
      await world.claim(deletion);
      return outcome;
    });
    expect(await keep()).toBe('deleting');
    // The deleter got only what had not been taken out before.
    expect((await world.deletions())[0]?.objects.size).toBe(900);
  });
});
