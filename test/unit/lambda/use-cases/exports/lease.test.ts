import { expect, it } from 'vitest';
import { newExportJob } from '../../../../../lambda/domain/export/export-job.ts';
import type { ExportJobs } from '../../../../../lambda/ports/export-jobs.ts';
import { ExportBusyError, ExportLease } from '../../../../../lambda/use-cases/exports/lease.ts';
import { wholeTenant as request } from '../../../../support/export-request.ts';
import { ManualClock } from '../../../../support/memory/deps.ts';
import { MemoryExportJobs } from '../../../../support/memory/export-jobs.ts';

const path = { tenant: 'acme', exportId: 'first' };

async function world() {
  const clock = new ManualClock();
  const jobs = new MemoryExportJobs();
  const nowMs = clock.nowMs();
  await jobs.create(newExportJob({ ...path, request, nowMs, limitMs: 1e9 }), { placesMax: 1, nowMs });
  return { clock, jobs };
}

it('is renewed by many requests at once, as pages are listed', async () => {
  const { clock, jobs } = await world();
  // A change is there before its answer.
  const late: Pick<ExportJobs, 'change' | 'read'> = {
    read: (each) => jobs.read(each),
    change: async (each, change) => {
      const changed = await jobs.change(each, change);
      for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
      return changed;
    },
  };
  const { lease } = await ExportLease.take({ clock, exportJobs: { ...jobs, ...late } as ExportJobs }, path);
  if (!lease) throw new Error('The export is open.');
  for (let page = 0; page < 3; page += 1) {
    clock.advance(30_000);
    const first = lease.renew();
    for (let turns = 0; turns < 5; turns += 1) await Promise.resolve();
    await Promise.all([first, lease.renew(), lease.renew()]);
  }
  await expect(ExportLease.take({ clock, exportJobs: jobs }, path)).rejects.toThrow(ExportBusyError);
  await lease.release();
  await ExportLease.take({ clock, exportJobs: jobs }, path);
});
