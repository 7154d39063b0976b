import { beforeEach, describe, expect, it } from 'vitest';
import type { ListPageRequest } from '../../../../../lambda/core/store/rules/store.ts';
import { cancelGc, openGc, readGc } from '../../../../../lambda/subjects/gc/gc.ts';
import { tenant } from '../../../../support/memory/stack.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { GcWorld, hour, oidAt, path, repo } from './gc-world.ts';

let world: GcWorld;
beforeEach(async () => {
  world = await GcWorld.with([0, 1]);
});

/** Somebody else writes the record right before each of the next writes. */
function disturb(writes: number): void {
  const putGc = world.gcRuns.put.bind(world.ledger);
  let left = writes;
  world.gcRuns.put = async (input) => {
    left -= 1;
    if (left < 0) return putGc(input);
    const { gc } = input;
    const now = await world.gcRuns.read(path);
    const other = { ...(now ?? gc), dueAtMs: left };
    await putGc({ tenant, gc: other, versionRead: now?.version ?? null, writeId: `other${left}` });
    return putGc(input);
  };
}

describe('opening a gc run', () => {
  it('asks the store only where nothing is counted, and for one key only', async () => {
    const asked: ListPageRequest[] = [];
    const listing = {
      ...world.deps.listing,
      listPage: (request: ListPageRequest) => {
        asked.push(request);
        return world.objects.listPage(request);
      },
    };
    expect(await openGc({ ...world.deps, listing }, path)).toMatchObject({ kind: 'open' });
    expect(asked).toEqual([]);
    world.objects.put(`${tenant}/new/${oidAt(3)}`, 4);
    const opened = await openGc({ ...world.deps, listing }, { tenant, repo: 'new' });
    expect(opened).toMatchObject({ kind: 'open' });
    expect(asked).toEqual([{ prefix: `${tenant}/new/`, maxKeys: 1 }]);
  });

  it('finds the one of a repo that was emptied since', async () => {
    const opened = await world.open();
    for (const index of [0, 1]) await world.objects.delete([`${tenant}/${repo}/${oidAt(index)}`]);
    await world.consume({ full: true });
    expect(await world.ledger.readRepo(path)).toMatchObject({ objectCount: 0 });
    expect(await world.open()).toEqual(opened);
  });

  it('is refused in a repo that was counted as empty, and is', async () => {
    for (const index of [0, 1]) await world.objects.delete([`${tenant}/${repo}/${oidAt(index)}`]);
    await world.consume({ full: true });
    expect(await openGc(world.deps, path)).toEqual({ kind: 'no-repo' });
  });

  it('is busy if somebody else opens it at the same time', async () => {
    disturb(1);
    const { log, entries } = recordingLog();
    expect(await openGc({ ...world.deps, log }, path)).toEqual({ kind: 'busy' });
    expect(entries).toEqual([]);
    expect(await openGc(world.deps, path)).toMatchObject({ kind: 'open' });
  });

  it('is busy until no clock says that the last one was opened later', async () => {
    const { watch } = await world.open();
    await world.ledger.closeWatch({ ...path, watch });
    expect(await openGc(world.deps, path)).toEqual({ kind: 'busy' });
    world.nowMs += 1;
    expect(await openGc(world.deps, path)).toMatchObject({ kind: 'open' });
  });

  it('is told once', async () => {
    const { log, entries } = recordingLog();
    const opened = await openGc({ ...world.deps, log }, path);
    await openGc({ ...world.deps, log }, path);
    const watchId = opened.kind === 'open' && opened.gc.watch.id;
    expect(watchId).toMatch(/^\w{16}$/);
    expect(entries).toEqual([{ level: 'info', message: 'gc run opened', fields: { tenant, repo, watchId } }]);
  });
});

describe('cancelling a gc run', () => {
  it('is told, and has what is left of it removed', async () => {
    const { watch } = await world.open();
    const { log, entries } = recordingLog();
    world.nowMs += 5;
    expect(await cancelGc({ ...world.deps, log }, path)).toMatchObject({
      state: 'cancelled',
      endedAtMs: world.nowMs,
    });
    expect(world.requests).toEqual([{ tenant, reason: 'delete', full: false }]);
    expect(entries).toEqual([
      { level: 'info', message: 'gc run cancelled', fields: { tenant, repo, watchId: watch.id } },
    ]);
  });

  it('is tried twenty times while others write it', async () => {
    await world.open();
    disturb(19);
    expect(await cancelGc(world.deps, path)).toMatchObject({ state: 'cancelled' });
  });

  it('gives up after that, and asks for nothing', async () => {
    await world.open();
    disturb(20);
    expect(await cancelGc(world.deps, path)).toBe('busy');
    expect(world.requests).toEqual([]);
  });

  it('of one that has ended changes nothing', async () => {
    await world.open();
    const ended = await cancelGc(world.deps, path);
    world.requests.length = 0;
    world.nowMs += hour;
    expect(await cancelGc(world.deps, path)).toEqual(ended);
    expect(world.requests).toEqual([]);
  });
});

describe('reading a gc run', () => {
  it('shows one as ended once its time is over, although nobody has looked', async () => {
    const opened = await world.open();
    world.nowMs = opened.watch.untilMs;
    expect(await readGc(world.deps, path)).toEqual(opened);
    world.nowMs += 1;
    expect(await readGc(world.deps, path)).toMatchObject({ state: 'expired', endedAtMs: world.nowMs });
  });

  it('shows one that has ended as it ended', async () => {
    const { watch } = await world.open();
    const cancelled = await cancelGc(world.deps, path);
    world.nowMs = watch.untilMs + 1;
    expect(await readGc(world.deps, path)).toEqual(cancelled);
  });
});
