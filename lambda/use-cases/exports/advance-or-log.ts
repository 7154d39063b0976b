import type { Deps } from '../../deps.ts';
import type { ExportPath } from '../../domain/export/export-job.ts';

/**
 * Asks for the next step of an export. If the queue does not take that, it is logged: the schedule looks for exports that
 * nothing moves, so the step is only later.
 */
export async function advanceOrLog(
  { exportQueue, log }: Pick<Deps, 'exportQueue' | 'log'>,
  { tenant, exportId }: ExportPath,
): Promise<void> {
  try {
    await exportQueue.send([{ tenant, exportId, step: { kind: 'advance' } }]);
  } catch (error) {
    log.error('export not advanced', { tenant, exportId, error });
  }
}

/**
 * Asks that the folder of an export without a record is removed. If the queue does not take that, it is logged: the
 * store's lifecycle removes it later.
 */
export async function forgetOrLog(
  { exportQueue, log }: Pick<Deps, 'exportQueue' | 'log'>,
  { tenant, exportId }: ExportPath,
): Promise<void> {
  try {
    await exportQueue.send([{ tenant, exportId, step: { kind: 'forget' } }]);
  } catch (error) {
    log.error('export not advanced', { tenant, exportId, error });
  }
}
