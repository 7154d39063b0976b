import * as z from 'zod';
import type { Frozen } from '../../../core/rules/stored.ts';

/** Percent of the limit of what is stored at which an alert is created. */
const thresholds = [90, 80] as const;

/** The threshold that a tenant has reached. 0: none. */
export type Threshold = 0 | (typeof thresholds)[number];

/** A threshold is left this many points below it, so that a tenant at its edge doesn't get alerts again and again. */
const leftBelowPoints = 5;

/**
 * The threshold after a scan. What is stored decides, and not what is reserved for uploads: those may never arrive.
 *
 * @param input.limitBytes null: unlimited, which is below every threshold.
 */
export function thresholdAfter(input: {
  before: Threshold;
  storedBytes: number;
  limitBytes: number | null;
}): Threshold {
  const { before } = input;
  const percent = percentOf(input);
  const reached = thresholds.find((threshold) => percent >= threshold) ?? 0;
  const kept =
    thresholds.find((threshold) => threshold <= before && percent >= threshold - leftBelowPoints) ?? 0;
  return reached > kept ? reached : kept;
}

function percentOf({ storedBytes, limitBytes }: { storedBytes: number; limitBytes: number | null }): number {
  if (limitBytes === null || storedBytes === 0) return 0;
  // Of a limit of 0 it is infinite.
  return (storedBytes / limitBytes) * 100;
}

const threshold = z.union([z.literal(0), ...thresholds.map((each) => z.literal(each))]);

const figures = {
  atMs: z.number(),
  /** As of the last scan. */
  storedBytes: z.number(),
  /** null: unlimited. */
  limitBytes: z.number().nullable(),
};

/** What is said of a tenant, once for each time that it happens. */
const alert = z.discriminatedUnion('kind', [
  /** A threshold is reached, or left. */
  z.object({ kind: z.literal('threshold'), ...figures, threshold, previousThreshold: threshold }),
  /** The first batch of the day of which something was refused. */
  z.object({ kind: z.literal('limit_reached'), ...figures }),
]);
export type Alert = Frozen<z.output<typeof alert>>;

export const alertsSchema = z.object({
  threshold: threshold.default(0),
  /** Number of the last alert that was raised, and of the last that was handed over. */
  seq: z.number().default(0),
  deliveredSeq: z.number().default(0),
  /** Those between the two. */
  pending: z.array(alert).default([]),
});

/** An alert with its number: the first of a tenant is 1, and none is left out. */
export interface NumberedAlert {
  readonly seq: number;
  readonly alert: Alert;
}

/** What receivers get. The same id is the same event, however often it comes. */
export interface AlertEvent {
  /** `acme:7`. */
  readonly id: string;
  readonly type: 'storage.threshold' | 'storage.limit_reached' | 'webhook.test';
  /** When it happened, such as `2026-11-21T05:00:00.000Z`. */
  readonly timestamp: string;
  readonly data: Readonly<Record<string, string | number | null>>;
}

export function alertEvent(tenant: string, { seq, alert }: NumberedAlert): AlertEvent {
  const { kind, atMs, ...data } = alert;
  return {
    id: `${tenant}:${seq}`,
    type: `storage.${kind}`,
    timestamp: new Date(atMs).toISOString(),
    data: { tenant, ...data },
  };
}
