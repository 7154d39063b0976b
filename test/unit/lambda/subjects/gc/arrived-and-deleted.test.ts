import { beforeEach, describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { deleteRepo, deleteTenant, markObject } from '../../../../../lambda/core/ledger/deletes.ts';
import { cancelReservations, listReservations } from '../../../../../lambda/core/ledger/reservations.ts';
import { runDeletions } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { GcWorld, hour, repo } from './gc-world.ts';

const objects = { [oidOf(1)]: 300, [oidOf(2)]: 300, [oidOf(3)]: 300 };

/** Each way in which the server deletes what was uploaded. */
const deletes: Readonly<Record<string, (world: GcWorld) => Promise<unknown>>> = {
  'with its repo': ({ deps }) => deleteRepo(deps, { tenant, repo, dryRun: false }),
  'one by one': async ({ deps }) => {
    for (const oid of Object.keys(objects)) await markObject(deps, { tenant, repo, oid, dryRun: false });
  },
  'by a gc run': async (world) => {
    await world.open();
    // It spares what a URL can bring back.
    world.nowMs += 40 * minute;
    expect((await world.run([])).kind).toBe('started');
  },
  'with its tenant': async (world) =>
    deleteTenant(world.deps, { tenant: await world.record(), dryRun: false }),
};

describe.each([
  ['repo', {}],
  ['large repo', { largeRepoObjects: 2 }],
])('what arrived in a %s and was deleted', (_, settings) => {
  let world: GcWorld;

  beforeEach(async () => {
    world = new GcWorld({ gcWatchMs: 15 * minute, ...settings });
    await world.create(1000);
  });

  async function push(madeBy: string, asked: Readonly<Record<string, number>>, to = 'other') {
    const outcome = await admitUpload(world.deps, {
      tenant: await world.record(),
      repo: to,
      objects: new Map(Object.entries(asked)),
      madeBy,
    });
    return outcome.kind === 'answered' ? [...outcome.verdicts.values()].map(({ kind }) => kind) : outcome;
  }

  const put = (from: Readonly<Record<string, number>>) => {
    for (const [oid, size] of Object.entries(from))
      world.objects.put(`${tenant}/${repo}/${oid}`, size, undefined, world.nowMs);
  };

  const shown = async () => {
    const { deps } = world;
    return (await listReservations(deps, { tenant, repos: null, pageSize: 100 })).reservations;
  };

  /** The first run after all is lapsed deletes it, and then counts. */
  async function untilDeleted() {
    world.nowMs += 70 * minute;
    await world.consume();
    for (let runs = 0; (await world.keys()).length > 0; runs += 1) {
      if (runs > 40) throw new Error('It is never deleted.');
      await world.pass(15 * minute);
      await world.consume();
    }
    await world.consume();
  }

  it.each(Object.entries(deletes))('%s did arrive: it holds up nothing of its maker', async (way, run) => {
    expect(await push('ada', objects, repo)).toEqual(['upload', 'upload', 'upload']);
    put(objects);
    await world.consume();
    expect(await world.usage()).toEqual({ committedBytes: 900, storedBytes: 900 });
    await run(world);
    await untilDeleted();
    expect(await world.usage()).toEqual({ committedBytes: 0, storedBytes: 0 });
    expect((await world.record()).unconfirmed).toBeUndefined();
    // What a slow PUT may still store once more, nobody is held to account for.
    expect(new Set((await shown()).map(({ madeBy }) => madeBy))).toEqual(new Set([null]));
    if (way !== 'with its tenant') expect(await push('ada', { [oidOf(4)]: 900 })).toEqual(['upload']);
  });

  it('holds up nothing of its maker, though late uploads are canceled between the delete and the next count', async () => {
    await push('ada', objects, repo);
    put(objects);
    await world.consume();
    for (const oid of Object.keys(objects))
      await markObject(world.deps, { tenant, repo, oid, dryRun: false });
    world.nowMs += 70 * minute;
    await runDeletions(world.deps, { tenant, untilMs: world.nowMs + minute, deletionCount: 3 });
    expect(await world.keys()).toEqual([]);
    await cancelReservations(world.deps, { tenant });
    await world.consume();
    expect((await world.record()).unconfirmed).toBeUndefined();
    expect(await push('ada', { [oidOf(4)]: 900 })).toEqual(['upload']);
    // They go with the next ones.
    await cancelReservations(world.deps, { tenant });
    expect((await shown()).filter(({ state }) => state === 'unconfirmed')).toEqual([]);
  });

  it('counts once more if a slow PUT brings it back', async () => {
    await push('ada', objects, repo);
    put(objects);
    await world.consume();
    await deleteRepo(world.deps, { tenant, repo, dryRun: false });
    await untilDeleted();
    await push('ada', { [oidOf(4)]: 900 });
    put(objects);
    await world.pass(26 * hour);
    expect((await world.usage()).storedBytes).toBe(900);
    expect(world.reservations).toEqual([]);
  });

  it('holds its maker up for what they claim afterwards and do not send', async () => {
    await push('ada', objects, repo);
    put(objects);
    await world.consume();
    for (const oid of Object.keys(objects))
      await markObject(world.deps, { tenant, repo, oid, dryRun: false });
    await untilDeleted();
    expect(await push('ada', objects, repo)).toEqual(['upload', 'upload', 'upload']);
    await world.pass(hour);
    expect([...((await world.record()).unconfirmed?.makers.keys() ?? [])]).toEqual(['ada']);
    expect(await push('ada', { [oidOf(4)]: 900 })).toMatchObject({ kind: 'retry' });
    expect(await push('ben', { [oidOf(4)]: 900 })).toEqual(['upload']);
  });

  it('holds its maker up for what was claimed beside it and never came', async () => {
    await push('ada', objects, repo);
    put({ [oidOf(1)]: 300 });
    await world.consume();
    await deleteRepo(world.deps, { tenant, repo, dryRun: false });
    await untilDeleted();
    expect((await shown()).find(({ madeBy }) => madeBy === 'ada')).toMatchObject({
      state: 'unconfirmed',
      objectCount: 2,
      bytes: 600,
    });
    expect(await push('ada', { [oidOf(4)]: 900 })).toMatchObject({ kind: 'retry' });
  });
});
