import { beforeEach, describe, expect, it } from 'vitest';
import { runDeletions } from '../../../../../lambda/core/ledger/run-deletions.ts';
import { type ExportJob, newExportJob } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { MemoryStack, minute, tenant } from '../../../../support/memory/stack.ts';
import { wholeTenant as request } from '../../../../support/subjects/exports/export-request.ts';

const day = 24 * 60 * minute;

describe('deletions while an export is under way', () => {
  let world: MemoryStack;
  const run = () => runDeletions(world.deps, { tenant, untilMs: 9e15, deletionCount: 0 });
  const states = async () => (await world.deletions()).map(({ state }) => state);
  const begin = async (more: Partial<ExportJob> = {}, exportId = 'first') => {
    const job = newExportJob({ tenant, exportId, request, nowMs: world.nowMs, limitMs: day });
    await world.deps.exportJobs.create({ ...job, ...more }, { placesMax: 9, nowMs: world.nowMs });
  };
  const end = (exportId = 'first') =>
    world.deps.exportJobs.change({ tenant, exportId }, (job) => ({ ...job, state: 'done' }));

  beforeEach(async () => {
    world = new MemoryStack();
    world.put({ 'app/a': 1 });
    await world.create();
    await world.mark({ a: 1 }, { id: 'a' });
  });

  it('what it is to have is not deleted until it has ended', async () => {
    await begin();
    expect(await run()).toBe(true);
    expect(await states()).toEqual(['scheduled']);
    await end();
    await run();
    expect(await states()).toEqual(['deleted']);
  });

  it('of this repo, an ended one beside it changes nothing', async () => {
    await begin({ request: { ...request, repo: 'app' } }, 'a-first');
    await begin({ request: { ...request, repo: 'app' } }, 'b-second');
    await end('b-second');
    await run();
    expect(await states()).toEqual(['scheduled']);
  });

  it.each([
    ['one of another repo', { request: { ...request, repo: 'web' } }],
    ['a dry run', { request: { ...request, isDryRun: true } }],
    ['an export of another tenant', { tenant: 'other' }],
  ])('%s spares nothing', async (_title, more) => {
    await begin(more);
    await run();
    expect(await states()).toEqual(['deleted']);
  });

  it('nothing is spared for longer than a day', async () => {
    await begin();
    world.nowMs += day;
    await run();
    expect(await states()).toEqual(['deleted']);
  });

  it('a new export every 12 hours spares it for a day, as the first one does', async () => {
    const beganMs = world.nowMs;
    await begin();
    for (let hours = 0; hours <= 24; hours += 12) {
      world.nowMs = beganMs + hours * 60 * minute;
      if (hours > 0) await begin({}, `export-${hours}`);
      await run();
      expect(await states(), `${hours} hours`).toEqual([hours < 24 ? 'scheduled' : 'deleted']);
    }
  });

  it('one that was refused for most of a day before it was opened spares it like any other', async () => {
    await begin({ createdAtMs: world.nowMs - 25 * 60 * minute, state: 'done' }, 'b-later-id');
    await begin({}, 'a-earlier-id');
    await run();
    expect(await states()).toEqual(['scheduled']);
  });

  it('one that is opened after it was due spares nothing', async () => {
    world.nowMs += 1;
    await begin();
    await run();
    expect(await states()).toEqual(['deleted']);
  });
});
