import { type ExportPath, isOpen, withFailure } from '../../domain/export/export-job.ts';
import { exportPrefix } from '../../domain/export/export-keys.ts';
import { noteFailure } from '../../extras/status.ts';
import type { ExportMessage } from '../../ports/export-queue.ts';
import { type AdvanceDeps, advanceExport } from './advance-export.ts';
import { deleteBelow } from './below.ts';
import { ExportBusyError } from './lease.ts';
import { runUnit, type UnitDeps } from './run-unit.ts';

export type StepDeps = AdvanceDeps & UnitDeps;

/**
 * Does one step of an export. An export whose steps fail again and again fails itself.
 *
 * @param input.deadlineMs no new part begins afterwards.
 * @throws when the step is to be delivered again.
 */
export async function runExportStep(
  deps: StepDeps,
  { message, deadlineMs }: { message: ExportMessage; deadlineMs: number },
): Promise<void> {
  const { tenant, exportId, step } = message;
  const path = { tenant, exportId };
  const beganAtMs = deps.clock.nowMs();
  try {
    const outcome = await doStep(deps, { message, deadlineMs });
    const durationMs = deps.clock.nowMs() - beganAtMs;
    deps.log.info('export step', { ...path, step, outcome, durationMs });
  } catch (error) {
    // Somebody else is at it: no failure.
    if (error instanceof ExportBusyError) throw error;
    const why = error instanceof Error ? error.name : 'an unknown error';
    const job = await deps.exportJobs.change(path, (now) =>
      isOpen(now) ? withFailure(now, { why, nowMs: deps.clock.nowMs() }) : undefined,
    );
    if (job?.state !== 'failed') throw error;
    deps.log.error('export failed', { ...path, step, error });
    await Promise.all([
      deps.exportQueue.send([{ ...path, step: { kind: 'advance' } }]),
      noteFailure(deps, { ...path, kind: 'export', tries: 1, why: 'export' }),
    ]);
  }
}

function doStep(
  deps: StepDeps,
  { message, deadlineMs }: { message: ExportMessage; deadlineMs: number },
): Promise<unknown> {
  const { tenant, exportId, step } = message;
  const path = { tenant, exportId };
  switch (step.kind) {
    case 'advance':
      return advanceExport(deps, path);
    case 'forget':
      return forgetFolder(deps, path);
    case 'unit':
      return runUnit(deps, { path, step, deadlineMs });
  }
}

/** That of an export that was not begun, or what older versions kept of a tenant beside its exports. */
async function forgetFolder(deps: StepDeps, path: ExportPath): Promise<void> {
  if ((await deps.exportJobs.read(path)) === undefined) await deleteBelow(deps, exportPrefix(path));
}
