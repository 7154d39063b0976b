import { deployed, refreshDeps } from '../compose.ts';
import type { Deps } from '../use-cases/deps.ts';
import { flushAfter } from '../use-cases/flush-after.ts';
import { refresh } from '../use-cases/refresh.ts';

/** The schedule's target. */
export function create(deps: Pick<Deps, 'ledger' | 'queue' | 'clock' | 'log' | 'metrics' | 'settings'>) {
  return flushAfter(deps.metrics, async (_event: unknown, _context: unknown): Promise<{ queued: number }> => {
    const queued = await refresh(deps);
    deps.log.info('refresh', { queued });
    return { queued };
  });
}

export const handler = await deployed(create, refreshDeps);
