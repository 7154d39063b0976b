/**
 * What is measured, and in what. No metric is told apart by tenant or repo: each combination would be billed
 * as a metric of its own. Which tenant it was stands in the log.
 */
export const metricUnits = {
  /** Objects that a URL was handed out for, and their bytes. */
  UploadsAdmitted: 'Count',
  BytesAdmitted: 'Bytes',
  /** Objects that were proven to be over the limit. */
  UploadsRefused: 'Count',
  /** Batches answered with 429, to come again when a recount is done. */
  BatchesDeferred: 'Count',
  /** Recounts that have to wait, because the tenant rests or its budget of LIST requests is used up. */
  RecountsDeferred: 'Count',
  /** What a recount corrected the counter by, whichever way. */
  DriftBytes: 'Bytes',
  /** That of it which was stored or promised, and not counted; 0 where the counter was too high. */
  CounterShortfallBytes: 'Bytes',
  /** Of recounts that were committed. */
  ScanRequests: 'Count',
  ScanDuration: 'Milliseconds',
  /**
   * How old a tenant's count was when the next one took its place. Beyond the largest age only that counts by
   * which it was overdue: of a tenant in which nothing happens it is meant to grow old.
   */
  ReconcileAge: 'Milliseconds',
  /** Whether shown usage was young enough to come from the table; one that was asked for anew is neither. */
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

/** The service that every log line and metric names. Alarms and dashboards look for it. */
export const serviceName = 'lfs-quota';

/** Numbers for dashboards and alarms. Neither a request nor a recount waits for them. */
export interface Metrics {
  /** @param times 1 where it is left out. */
  increment(name: CounterName, times?: number): void;
  /** @param value in the metric's unit. */
  measure(name: MeasureName, value: number): void;
  /** Sends what was measured since the last time: at the end of each run, as what runs later may never run. */
  flush(): void;
}
