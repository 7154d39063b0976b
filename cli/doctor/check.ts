import type { Probe } from './probe.ts';

/**
 * - `pass`: the store does what the service relies on.
 * - `warning`: it does something else, and the service works nevertheless, or does not need it today.
 * - `fail`: the service must not be used on this store.
 */
export type Outcome = 'pass' | 'warning' | 'fail' | 'skipped';

/** What a check found, in a whole sentence. As a text alone: all is well. This advice replaces the check's. */
export type Finding =
  | string
  | { readonly outcome: Exclude<Outcome, 'pass'>; readonly detail: string; readonly advice?: string };

/** A row of the table. */
export interface Check {
  /** Stable: programs and the profile name checks by it. */
  readonly id: string;
  /** What to do if it fails. */
  readonly advice: string;
  /** Asks the store. What the profile says of it, and no outcome tells, it notes in `probe.facts`. */
  readonly ask: (probe: Probe) => Promise<Finding>;
}

export const check = (id: string, advice: string, ask: Check['ask']): Check => ({ id, advice, ask });

export const fail = (detail: string, advice?: string): Finding => found('fail', detail, advice);
export const warning = (detail: string, advice?: string): Finding => found('warning', detail, advice);
export const skipped = (detail: string): Finding => found('skipped', detail);

function found(outcome: Exclude<Outcome, 'pass'>, detail: string, advice?: string): Finding {
  return { outcome, detail, ...(advice !== undefined && { advice }) };
}
