/**
 * What is measured, and its units. No metric has a dimension for the tenant or repo: CloudWatch bills each
 * combination as a metric of its own. The log names the tenant.
 */
export const metricUnits = {
  /** Objects that got an upload URL, and their bytes. */
  UploadsAdmitted: 'Count',
  BytesAdmitted: 'Bytes',
  /** Objects that were refused because they are proven to exceed the limit. */
  UploadsRefused: 'Count',
  /** Batches answered with 429. The client retries when a reconcile is done. */
  BatchesDeferred: 'Count',
  /** Reconciles that wait, because the tenant was just reconciled or its budget of LIST requests is used up. */
  ReconcilesDeferred: 'Count',
  /** Reconciles of the queue that failed, each try. The message is redelivered, or becomes a dead letter. */
  ReconcilesFailed: 'Count',
  /** Reconciles whose numbers could not be written to the history. The next reconcile makes up for it. */
  HistoryNotNoted: 'Count',
  /** By how much a reconcile corrected the counter, up or down. */
  DriftBytes: 'Bytes',
  /** How far the counter was below the true value; 0 if it was too high. */
  CounterShortfallBytes: 'Bytes',
  /** LIST requests and duration of reconciles that were committed. */
  ScanRequests: 'Count',
  ScanDuration: 'Milliseconds',
  /**
   * How old a tenant's count was when the next one replaced it. Above the maximum age, only the overdue time
   * is added: the count of a tenant in which nothing happens is meant to grow older than that.
   */
  ReconcileAge: 'Milliseconds',
  /** Whether the last count was young enough to be shown. If it was, but a person asked to refresh it: neither. */
  CacheHits: 'Count',
  CacheMisses: 'Count',
  /** Tenants that one run of the schedule found due. */
  TenantsQueued: 'Count',
} as const satisfies Record<string, 'Count' | 'Bytes' | 'Milliseconds'>;

type MetricNames = keyof typeof metricUnits;
type CounterName = {
  [N in MetricNames]: (typeof metricUnits)[N] extends 'Count' ? N : never;
}[MetricNames];
type MeasureName = Exclude<MetricNames, CounterName>;
export type MetricName = MetricNames;

/** The service name in every log line and metric. Alarms and dashboards look for it. */
export const serviceName = 'lfs-quota';

/** Numbers for dashboards and alarms. No request and no reconcile waits for them. */
export interface Metrics {
  /** @param times defaults to 1. */
  increment(name: CounterName, times?: number): void;
  /** @param value in the metric's unit. */
  measure(name: MeasureName, value: number): void;
  /** Sends what was measured since the last flush. Call it at the end of each run: later code may never run. */
  flush(): void;
}
