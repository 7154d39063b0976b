import { expect, it } from 'vitest';
import { create } from '../../../../../lambda/subjects/exports/handler.ts';
import { newExportJob } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { deliver } from '../../../../support/delivery.ts';
import { MemoryArchiveStore } from '../../../../support/memory/archive-store.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { recordingLog } from '../../../../support/recording-log.ts';

const path = { tenant: 'acme', exportId: 'first' };
const request = {
  repo: null,
  listedObjects: null,
  isNamed: false,
  format: 'tar',
  isDryRun: true,
} as const;
const advance = { ...path, step: { kind: 'advance' } };

async function stack() {
  const { log, entries } = recordingLog();
  const archives = new MemoryArchiveStore();
  const deps = memoryDeps({ archives, objects: archives.objects, log });
  const job = newExportJob({ ...path, request, nowMs: deps.clock.nowMs(), limitMs: 86_400_000 });
  await deps.exportJobs.create(job, { placesMax: 1, nowMs: deps.clock.nowMs() });
  const consume = create(deps);
  return { deps, archives, entries, run: (body: unknown) => deliver(consume, body, { receiveCount: 2 }) };
}

it('does a step', async () => {
  const { deps, run, entries } = await stack();
  expect(await run(advance)).toEqual({ isDone: true, delays: [] });
  expect((await deps.exportJobs.read(path))?.state).toBe('explained');
  expect(entries).toMatchObject([{ message: 'export step', fields: { outcome: 'explained' } }]);
});

it('hands back what it cannot read, or has failed', async () => {
  const { deps, archives, run, entries } = await stack();
  let isDown = true;
  archives.before = () => {
    if (isDown) throw new Error('The store is down.');
  };
  expect(await run('not json')).toEqual({ isDone: false, delays: [] });
  expect(await run(advance)).toEqual({ isDone: false, delays: [10_000] });
  expect(entries.map(({ message }) => message)).toEqual(['unreadable message', 'export step failed']);
  expect((await deps.exportJobs.read(path))?.failingSinceMs).toBe(deps.clock.nowMs());
  isDown = false;
  expect(await run(advance)).toMatchObject({ isDone: true });
});

it('comes again if somebody else is at it, which is no failure', async () => {
  const { deps, run, entries } = await stack();
  await deps.exportJobs.change(path, (job) => ({ ...job, leaseUntilMs: deps.clock.nowMs() + 1 }));
  expect(await run(advance)).toMatchObject({ isDone: false });
  expect(entries.map(({ message }) => message)).toEqual(['export busy']);
  expect((await deps.exportJobs.read(path))?.failingSinceMs).toBeNull();
});
