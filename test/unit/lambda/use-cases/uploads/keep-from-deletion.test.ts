import { beforeEach, describe, expect, it, vi } from 'vitest';
import { newDeletion, unmarkedObjectsMax } from '../../../../../lambda/domain/deletion.ts';
import { prefixText } from '../../../../../lambda/gc/rules/cleanups.ts';
import { keepFromDeletion } from '../../../../../lambda/use-cases/uploads/keep-from-deletion.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const repo = 'app';
const sizes = (...oids: string[]) => new Map(oids.map((oid) => [oid, 1]));
const many = Array.from({ length: 2 * unmarkedObjectsMax + 1 }, (_, index) => oidOf(index));

describe.each([
  ['read one after the other', 0],
  ['asked for by name', 10_000],
])('a batch that asks for objects of a deletion, %s,', (_title, deletionCount) => {
  let world: MemoryStack;
  const keep = (names: string[], stored: string[] = []) =>
    keepFromDeletion(world.deps, {
      tenant,
      repo,
      deletionCount,
      names: sizes(...names),
      stored: sizes(...stored),
    });
  const put = async (id: string, oids: string[], state: 'marked' | 'deleting' | 'gone', of = repo) => {
    const deletion = newDeletion({ id, repo: of, objects: sizes(...oids), dueAtMs: 0 });
    await world.ledger.putDeletion({ tenant, deletion });
    if (state === 'marked') return;
    const deadlineMs = world.nowMs + minute;
    await world.ledger.claimDeletion({ tenant, before: deletion, deadlineMs });
    const end = { tenant, repo: of, deletionId: id, deadlineMs, left: new Map(), dueAtMs: 0 };
    if (state === 'gone') await world.ledger.endDeletion({ ...end, keptUntilMs: deadlineMs });
  };
  const left = async () => (await world.deletions()).map(({ objects }) => [...objects.keys()]);

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create();
  });

  it('takes them out of every one that is marked, and leaves the others in it', async () => {
    await put('d1', ['a', 'b'], 'marked');
    await put('d2', ['b', 'c'], 'marked');
    expect(await keep(['b', 'x'])).toBe('kept');
    expect(await left()).toEqual([['a'], ['c']]);
  });

  it('writes nothing if it asks for none of them, in whatever state that is', async () => {
    await put('d1', ['a'], 'marked');
    await put('d2', ['b'], 'deleting');
    await put('d3', ['x'], 'deleting', 'web');
    const unmark = vi.spyOn(world.ledger, 'unmark');
    expect(await keep(['x'], ['x'])).toBe('kept');
    expect(unmark).not.toHaveBeenCalled();
  });

  it('waits while one of them is being deleted, stored or not', async () => {
    await put('d1', ['a'], 'deleting');
    const unmark = vi.spyOn(world.ledger, 'unmark');
    expect(await keep(['a'])).toBe('deleting');
    expect(await keep(['a'], ['a'])).toBe('deleting');
    expect(unmark).not.toHaveBeenCalled();
  });

  it('waits if one is gone that the store said it had, and uploads it again if not', async () => {
    await put('d1', ['a'], 'gone');
    expect(await keep(['a'], ['a'])).toBe('deleting');
    expect(await keep(['a'])).toBe('kept');
    expect(await left()).toEqual([['a']]);
  });

  it('waits for what is gone by what its name begins with, if the store said it had it', async () => {
    const [gone, other] = ['a'.repeat(64), 'b'.repeat(64)];
    const prefixes = prefixText([gone]);
    const deletion = newDeletion({ id: 'd1', repo, objects: new Map(), dueAtMs: 0 });
    const deadlineMs = world.nowMs + minute;
    await world.ledger.putDeletion({
      tenant,
      deletion: { ...deletion, state: 'gone', deadlineMs, prefixes },
    });
    expect(await keep([gone, other], [gone, other])).toBe('deleting');
    expect(await keep([gone, other], [other])).toBe('kept');
    world.nowMs = deadlineMs + 2 * world.deps.settings.clockSkewMs + 1;
    expect(await keep([gone], [gone])).toBe('kept');
  });

  it('waits no longer for what is gone once its record is no concern of theirs, by every clock', async () => {
    await put('d1', ['a'], 'gone');
    world.nowMs += minute + 2 * world.deps.settings.clockSkewMs;
    expect(await keep(['a'], ['a'])).toBe('deleting');
    world.nowMs += 1;
    expect(await keep(['a'], ['a'])).toBe('kept');
  });

  it('waits for what is being deleted, however long that takes', async () => {
    await put('d1', ['a'], 'deleting');
    world.nowMs += 60 * minute;
    expect(await keep(['a'])).toBe('deleting');
  });

  it.each([
    ['no more', many, [unmarkedObjectsMax, unmarkedObjectsMax, 1]],
    ['all that just fits', many.slice(0, unmarkedObjectsMax), [unmarkedObjectsMax]],
  ])('takes %s out with one write', async (_, names, expected) => {
    await put('d1', names, 'marked');
    const unmark = vi.spyOn(world.ledger, 'unmark');
    expect(await keep(names)).toBe('kept');
    expect(unmark.mock.calls.map(([input]) => input.names.length)).toEqual(expected);
    expect(await left()).toEqual([[]]);
  });

  it('stops and waits if a deleter claims it in between', async () => {
    await put('d1', many, 'marked');
    const unmark = vi.spyOn(world.ledger, 'unmark').mockResolvedValue('refused');
    expect(await keep(many)).toBe('deleting');
    expect(unmark).toHaveBeenCalledTimes(1);
  });
});
