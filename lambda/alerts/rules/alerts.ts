/** Percent of the limit of what is stored at which an alert is created. */
export const thresholds = [90, 80] as const;

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

/** What is said of a tenant, once for each time that it happens. */
export type Alert =
  /** A threshold is reached, or left. */
  | (Figures & {
      readonly kind: 'threshold';
      readonly threshold: Threshold;
      readonly previousThreshold: Threshold;
    })
  /** The first batch of the day of which something was refused. */
  | (Figures & { readonly kind: 'limit_reached' });

interface Figures {
  readonly atMs: number;
  /** As of the last scan. */
  readonly storedBytes: number;
  /** null: unlimited. */
  readonly limitBytes: number | null;
}

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

/** Where the operator's own programs hear of tenants. */
export interface EventBus {
  /** @throws if some were not taken. Others may have been. */
  publish(events: readonly AlertEvent[]): Promise<void>;
}
