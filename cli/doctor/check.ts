import type { Probe } from './probe.ts';

/**
 * - `pass`: the store does what the service relies on.
 * - `warning`: it does something else, and the service works nevertheless, or does not need it today.
 * - `fail`: the service must not be used on this store.
 */
export type Outcome = 'pass' | 'warning' | 'fail' | 'skipped';

/** What a check found, in a whole sentence: that all is well, or what is not. This advice replaces the check's. */
export type Finding =
  | string
  | { readonly fail: string; readonly advice?: string }
  | { readonly warning: string; readonly advice?: string }
  | { readonly skipped: string };

/** A row of the table. */
export interface Check {
  /** Stable: programs and the profile name checks by it. */
  readonly id: string;
  /** Without it no other check can work: if it fails, those that follow are skipped. */
  readonly isEssential?: boolean;
  /** The service does not need it today: a check that cannot be made is a warning. */
  readonly isOptional?: boolean;
  /** What to do if it fails. */
  readonly advice: string;
  /** Asks the store. It notes in `probe.facts` what the profile says of it. */
  readonly ask: (probe: Probe) => Promise<Finding>;
}

export interface CheckResult {
  readonly id: string;
  readonly outcome: Outcome;
  readonly detail: string;
  /** What to do. Given with `fail` and `warning`. */
  readonly advice?: string;
}
