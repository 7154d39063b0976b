import type { WarningEvent } from '../domain/warning.ts';

/** Where the operator's own programs hear of tenants. */
export interface EventBus {
  /** @throws if some were not taken. Others may have been. */
  publish(events: readonly WarningEvent[]): Promise<void>;
}
