import type { Deps } from '../../local/deps.ts';

export const [tenant, repo] = ['zebra', 'stripes'];
export const path = { tenant, repo };
export const minute = 60_000;

/** How each store gets something of the tenant, and of the repo if it keeps something of repos. */
export type Fill = Readonly<Record<string, (deps: Deps, nowMs: number) => Promise<unknown>>>;
