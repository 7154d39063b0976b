import type { Belongings, Listener } from '../../core/ledger/seams.ts';
import { noteFull, noteLimit, noteThreshold } from './alerts.ts';
import type { AlertPorts } from './ports.ts';

type CountDeps = Parameters<typeof noteThreshold>[0];

/** Of a function that counts. */
export function alertsOfCounts(deps: CountDeps): Listener {
  return { counted: (event) => noteThreshold(deps, event) };
}

/** Of a function that changes limits. */
export function alertsOfLimits(deps: Parameters<typeof noteLimit>[0]): Listener {
  return { limited: (tenant) => noteLimit(deps, tenant) };
}

/** Of a function that admits uploads: one in each process. */
export function alertsOfBatches(deps: CountDeps): Listener {
  const warned = new Map<string, string>();
  return { ...alertsOfCounts(deps), refused: (event) => noteFull({ ...deps, warned }, event) };
}

export function alertBelongings({
  alerts,
  webhooks,
  emails,
}: Pick<AlertPorts, 'alerts' | 'webhooks' | 'emails'>): Belongings {
  return {
    forgetTenant: async ({ tenant }) => {
      await alerts.forget(tenant);
      await webhooks.remove(tenant);
      await emails.forget(tenant);
      return 'done';
    },
  };
}
