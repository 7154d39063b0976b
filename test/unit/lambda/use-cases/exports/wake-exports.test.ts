import { expect, it } from 'vitest';
import { newExportJob } from '../../../../../lambda/domain/export/export-job.ts';
import { exportSettingsFor } from '../../../../../lambda/domain/export/export-settings.ts';
import { wakeExports } from '../../../../../lambda/use-cases/exports/wake-exports.ts';
import { wholeTenant as request } from '../../../../support/export-request.ts';
import { ManualClock, memoryDeps, recordingExportQueue } from '../../../../support/memory/deps.ts';

async function stack(count: number) {
  const clock = new ManualClock();
  const { queue, messages } = recordingExportQueue();
  const deps = memoryDeps({ clock, exportQueue: queue });
  for (let index = 0; index < count; index += 1) {
    const path = { tenant: 'acme', exportId: `e${index}` };
    const job = newExportJob({ ...path, request, nowMs: clock.nowMs(), limitMs: 86_400_000 });
    await deps.exportJobs.create(job, { placesMax: 1000, nowMs: clock.nowMs() });
  }
  return { clock, messages, deps };
}

it('asks for the next step of exports in which nothing has moved', async () => {
  const { clock, messages, deps } = await stack(2);
  await deps.exportJobs.change({ tenant: 'acme', exportId: 'e1' }, (job) => ({
    ...job,
    state: 'failed',
    isTidy: true,
  }));
  clock.advance(15 * 60_000 - 1);
  expect(await wakeExports(deps)).toBe(0);
  clock.advance(1);
  expect(await wakeExports(deps)).toBe(1);
  expect(messages).toEqual([{ tenant: 'acme', exportId: 'e0', step: { kind: 'advance' } }]);
});

it('asks for nothing in a stage that makes no exports', async () => {
  const { clock, messages, deps } = await stack(1);
  clock.advance(15 * 60_000);
  const exportSettings = exportSettingsFor('s3', { workers: 0 });
  expect(await wakeExports({ ...deps, exportSettings })).toBe(0);
  expect(messages).toEqual([]);
});

it('asks for a hundred at a time', async () => {
  const { clock, messages, deps } = await stack(150);
  clock.advance(15 * 60_000);
  expect(await wakeExports(deps)).toBe(100);
  expect(messages.length).toBe(100);
});
