import { expect, it } from 'vitest';
import type { ExportMessage } from '../../../../lambda/subjects/exports/messages.ts';
import { newExportJob } from '../../../../lambda/subjects/exports/rules/job.ts';
import { exports, resume } from '../../../../local/exports/queues.ts';
import { memoryDeps, recordingJobs } from '../../../support/memory/deps.ts';
import { wholeTenant as request } from '../../../support/subjects/exports/export-request.ts';

it.each([
  [true, 0],
  [false, 99],
])(
  'a step is asked for of what an earlier process has not finished; alone (%s), its lease ends (%d)',
  async (isAlone, leaseUntilMs) => {
    const { exportJobs } = memoryDeps();
    const { queue: exportQueue, messages } = recordingJobs<ExportMessage>();
    const job = newExportJob({ tenant: 'acme', exportId: 'first', request, nowMs: 1, limitMs: 10 });
    await exportJobs.create({ ...job, leaseUntilMs: 99 }, { placesMax: 1, nowMs: 1 });
    await resume({ exportJobs, exportQueue }, isAlone);
    expect(messages).toEqual([{ tenant: 'acme', exportId: 'first', step: { kind: 'advance' } }]);
    expect((await exportJobs.read(job))?.leaseUntilMs).toBe(leaseUntilMs);
  },
);

it('steps are done two at a time, wait in memory alone, and none is dropped', () => {
  expect(exports).toMatchObject({ atOnce: 2, waitingMax: Number.MAX_SAFE_INTEGER });
  expect(exports).not.toHaveProperty('partition');
});
