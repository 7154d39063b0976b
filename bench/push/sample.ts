import { requestDollars } from './dollars.ts';
import type { SeenRequest } from './request-kind.ts';
import { type ApiTally, type StoreTally, tallyApi, tallyStore } from './tally.ts';

export const phases = ['push', 'push again', 'pull', 'recount'] as const;
export type Phase = (typeof phases)[number];

/** One phase of one round with one server. */
export interface Sample {
  readonly wallMs: number;
  /** Of the API server with its children. */
  readonly serverCpuMs: number;
  readonly storeCpuMs: number;
  readonly api: ApiTally;
  readonly store: StoreTally;
  readonly queueSends: number;
  /** What the requests cost, in dollars. */
  readonly storeDollars: number;
  /** Undefined for a server that is not priced by request. */
  readonly apiDollars: number | undefined;
}

export function sampleOf(input: {
  wallMs: number;
  serverCpuMs: number;
  storeCpuMs: number;
  seenByApi: readonly SeenRequest[];
  seenByStore: readonly SeenRequest[];
  queueSends: number;
  isPriced: boolean;
}): Sample {
  const { wallMs, serverCpuMs, storeCpuMs, queueSends } = input;
  const [api, store] = [tallyApi(input.seenByApi), tallyStore(input.seenByStore)];
  const dollars = requestDollars({ api, store, queueSends });
  return {
    wallMs,
    serverCpuMs,
    storeCpuMs,
    api,
    store,
    queueSends,
    storeDollars: dollars.store,
    apiDollars: input.isPriced ? dollars.api : undefined,
  };
}
