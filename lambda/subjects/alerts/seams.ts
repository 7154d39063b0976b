import type { Belongings, Listener } from '../../core/ledger/seams.ts';
import { noteFull, noteLimit, noteThreshold } from './alerts.ts';
import type { AlertPorts } from './ports.ts';
import * as stores from './stores.ts';

function listener(
  deps: Parameters<typeof noteThreshold>[0] & Pick<AlertPorts, 'webhooks' | 'emails'>,
): Listener & Belongings {
  const { alerts, webhooks, emails } = deps;
  const warned = new Map<string, string>();
  return {
    counted: (event) => noteThreshold(deps, event),
    refused: (event) => noteFull({ ...deps, warned }, event),
    limited: (tenant) => noteLimit(deps, tenant),
    forgetTenant: async ({ tenant }) => {
      await alerts.forget(tenant);
      await webhooks.remove(tenant);
      await emails.forget(tenant);
      return 'done';
    },
  };
}

export const alertListener = { listener, stores };
