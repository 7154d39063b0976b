import type { FunctionPorts } from '../../core/rules/clock-and-log.ts';
import { consumerOf, shortPause } from '../../core/rules/jobs.ts';
import type { AdvanceDeps } from './advance.ts';
import { ExportBusyError } from './lease.ts';
import { exportMessage } from './messages.ts';
import { runExportStep } from './steps.ts';

/** Does the steps of exports. */
export const create = (deps: AdvanceDeps & FunctionPorts) =>
  consumerOf(deps, {
    schema: exportMessage,
    // For the parts that are under way then.
    reserveMs: 60_000,
    pause: shortPause,
    step: async (message, { deadlineMs }) => {
      await runExportStep(deps, { message, deadlineMs });
      return 'done';
    },
    failed: ({ tenant, exportId, step }, { error, receiveCount }) => {
      if (error instanceof ExportBusyError) deps.log.info('export busy', { tenant, exportId, receiveCount });
      else deps.log.warn('export step failed', { tenant, exportId, step, receiveCount, error });
    },
  });
