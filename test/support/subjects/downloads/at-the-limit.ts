import { vi } from 'vitest';
import type { Deps } from '../../../../local/deps.ts';

/** From now on somebody else has just taken the room below the limit of `acme`, if the counter is right. */
export function atTheLimit(deps: Pick<Deps, 'ledger'>): void {
  vi.spyOn(deps.ledger, 'addCommitted').mockImplementation(async () => {
    const tenant = await deps.ledger.readTenant('acme');
    return tenant
      ? { kind: 'refused', tenant: { ...tenant, limitBytes: 100, committedBytes: 99 } }
      : { kind: 'absent' };
  });
}
