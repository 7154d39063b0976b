import type { Probe } from './probe.ts';
import type { KnownFacts } from './profile.ts';

/**
 * - `pass`: the store does what the service relies on.
 * - `warning`: it does something else, and the service works nevertheless, or does not need it today.
 * - `fail`: the service must not be used on this store.
 */
export type Outcome = 'pass' | 'warning' | 'fail' | 'skipped';

/** What a check found. */
export interface Finding {
  readonly outcome: Outcome;
  /** A whole sentence. */
  readonly detail: string;
  /** What to do. Always given with `fail` and `warning`. */
  readonly advice?: string;
  /** What the profile of the store says because of it. */
  readonly facts?: KnownFacts;
}

export interface Check {
  /** Stable: programs and the profile name checks by it. */
  readonly id: string;
  /** Without it no other check can work: if it fails, those that follow are skipped. */
  readonly isEssential?: boolean;
  /** The service does not need it today: a check that cannot be made is a warning. */
  readonly isOptional?: boolean;
  readonly run: (probe: Probe) => Promise<Finding>;
}

export interface CheckResult {
  readonly id: string;
  readonly outcome: Outcome;
  readonly detail: string;
  readonly advice?: string;
}

export function pass(detail: string, facts?: KnownFacts): Finding {
  return { outcome: 'pass', detail, ...(facts && { facts }) };
}

export function fail(detail: string, advice: string, facts?: KnownFacts): Finding {
  return { outcome: 'fail', detail, advice, ...(facts && { facts }) };
}

export function warn(detail: string, advice: string, facts?: KnownFacts): Finding {
  return { outcome: 'warning', detail, advice, ...(facts && { facts }) };
}

export function skip(detail: string): Finding {
  return { outcome: 'skipped', detail };
}
