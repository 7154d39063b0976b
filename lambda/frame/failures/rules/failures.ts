import * as z from 'zod';
import type { Frozen } from '../../../core/rules/stored.ts';

export const failureReasons = ['store', 'table', 'newer-format', 'unexpected', 'export'] as const;
export type FailureReason = (typeof failureReasons)[number];

/** Of what failed last: a reconcile of a tenant, or an export. */
const failure = z.object({
  kind: z.enum(['reconcile', 'export']),
  tenant: z.string(),
  /** Of an export. */
  exportId: z.string().optional(),
  /** When it failed last. */
  atMs: z.number(),
  /** When the first of these tries failed. */
  sinceMs: z.number(),
  /** Deliveries of its message so far. Of an export, which is not tried again: 1. */
  tries: z.number(),
  /** Or one that a later version knows. */
  why: z.enum(failureReasons).catch('unexpected'),
  /** Of a reconcile: the tenant's newest reconcile that had committed by then. undefined: that could not be read. */
  appliedEpoch: z.number().optional(),
});
export type Failure = Frozen<z.output<typeof failure>>;

export const failuresSchema = z.object({ failures: z.array(failure).default([]) });

/** Failures that are kept for the operator, the newest ones. All of them share an item of the table. */
export const keptFailuresMax = 20;

/** Only exports have an id. */
const isOfSame = (a: Failure, b: Failure) => a.tenant === b.tenant && a.exportId === b.exportId;

/**
 * The failures with one more, the newest first. It takes the place of that of the same reconcile or export, and goes on from it if
 * it is a further try.
 */
export function withFailureNoted(kept: readonly Failure[], failure: Failure): Failure[] {
  const before = kept.find((each) => isOfSame(each, failure));
  // A message may come twice, and an answer late.
  if (before && before.atMs > failure.atMs) return [...kept];
  const sinceMs = before && failure.tries > before.tries ? before.sinceMs : failure.sinceMs;
  const others = kept.filter((each) => !isOfSame(each, failure));
  return [{ ...failure, sinceMs }, ...others].sort((a, b) => b.atMs - a.atMs).slice(0, keptFailuresMax);
}

/** What a subject knows of its own failures. */
export interface FailureKind {
  readonly kind: Failure['kind'];
  /** Whether nothing is to be done about it any more. @throws {LedgerUnavailableError} */
  readonly isOver: (failure: Failure, nowMs: number) => Promise<boolean>;
}
