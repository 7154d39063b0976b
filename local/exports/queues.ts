import type { StoreKind } from '../../lambda/core/store/rules/store-kind.ts';
import { create } from '../../lambda/subjects/exports/handler.ts';
import type { ExportJobs } from '../../lambda/subjects/exports/job-store.ts';
import type { ExportQueue } from '../../lambda/subjects/exports/messages.ts';
import { exportSettingsFor } from '../../lambda/subjects/exports/rules/settings.ts';
import { ever, inMemory, type SubjectQueue, withRoom } from '../background/subject-queue.ts';
import type { SubjectPorts } from '../subject-ports.ts';

/** Steps of exports that run at a time. */
const exportWorkers = 2;

export const exportPorts = {
  /** @param input.exportsAs what the store does with parts. */
  create: ({ exportsAs }: { exportsAs: StoreKind }) => ({
    exportSettings: exportSettingsFor(exportsAs, { workers: exportWorkers }),
  }),
} as const satisfies SubjectPorts;

/** Asks for a step of each that an earlier process has not finished. */
export async function resume(
  {
    exportJobs,
    exportQueue,
  }: { readonly exportJobs: Pick<ExportJobs, 'listDue' | 'change'>; readonly exportQueue: ExportQueue },
  isAlone: boolean,
): Promise<void> {
  for await (const page of exportJobs.listDue(ever)) {
    for (const path of isAlone ? page : [])
      await exportJobs.change(path, (job) =>
        job.leaseUntilMs > 0 ? { ...job, leaseUntilMs: 0 } : undefined,
      );
    await exportQueue.send(page.map((path) => ({ ...path, step: { kind: 'advance' } })));
  }
}

/** They go on from their records. As many wait as the exports under way have steps. */
export const exports = {
  ...inMemory,
  atOnce: exportWorkers,
  waitingMax: Number.MAX_SAFE_INTEGER,
  port: 'exportQueue',
  create: withRoom(create),
  resume,
} as const satisfies SubjectQueue;
