import type { LatencyMode } from './options.ts';
import type { SeenRequest } from './request-kind.ts';
import { storeKindOf } from './request-kind.ts';

/**
 * Round trips that the doors add, in ms. The client is 60 ms away from the API and 30 ms from the store. Servers are near the
 * store: their times are those of bench/functions, with which S3 answers.
 */
export interface Latencies {
  readonly clientToApi: number;
  readonly clientToStore: number;
  readonly serverToStore: number;
  readonly serverList: number;
}

export const latenciesOf: Readonly<Record<LatencyMode, Latencies>> = {
  on: { clientToApi: 60, clientToStore: 30, serverToStore: 20, serverList: 100 },
  off: { clientToApi: 0, clientToStore: 0, serverToStore: 0, serverList: 0 },
};

/** What a request to the store waits for, in ms. */
export function storeLatencyMs(
  latencies: Latencies,
  request: Pick<SeenRequest, 'method' | 'target'>,
): number {
  const kind = storeKindOf(request);
  if (kind === 'serverList') return latencies.serverList;
  return kind.startsWith('client') ? latencies.clientToStore : latencies.serverToStore;
}
