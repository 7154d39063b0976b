import type { History } from './history-store.ts';

/** The days and weeks of tenants. */
export interface HistoryPorts {
  readonly history: History;
}
