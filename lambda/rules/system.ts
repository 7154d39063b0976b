/** Time. Use cases never read the machine's clock, so that a simulation can set the time. */
export interface Clock {
  /** Milliseconds since 1970. */
  nowMs(): number;
  sleep(durationMs: number): Promise<void>;
}

/** Randomness. */
export interface Ids {
  /** `length` random characters of base62, from a cryptographic source. */
  random(length: number): string;
}

/** Structured logs. Never pass a secret, a token or a signed URL. */
export interface Log {
  info(message: string, fields?: Record<string, unknown>): void;
  warn(message: string, fields?: Record<string, unknown>): void;
  error(message: string, fields?: Record<string, unknown>): void;
}

/** Which run of a function the current code belongs to, without passing it from call to call. */
export interface Invocations {
  /** Runs `work`, and all that it awaits, as this invocation. It replaces an outer one. */
  during<R>(invocation: Invocation, work: () => Promise<R>): Promise<R>;
  /** The invocation that runs now; empty if there is none. */
  current(): Invocation;
}

/** Ids that find the log lines of one invocation of a function, and those of the recounts that it requested. */
export interface Invocation {
  /** The id of the HTTP request. An error response names it. Without a request: the invocation's own id. */
  readonly requestId?: string;
  /** Of a recount: the id of its message in the queue. */
  readonly messageId?: string;
  /** Of a recount: the cause that its message named, see {@link causeOf}. */
  readonly correlationId?: string | undefined;
  /** The id in Lambda's own log lines. */
  readonly functionRequestId?: string;
  /** Set for the first invocation of a container. */
  readonly coldStart?: true;
}

/**
 * What a recount that this invocation requests names as its cause. A recount passes its own cause on, so the first
 * cause is kept.
 */
export function causeOf(invocation: Invocation): string | undefined {
  return invocation.requestId ?? invocation.correlationId ?? invocation.messageId;
}

/** API Gateway's ids are base64. Those of Lambda and SQS are UUIDs. Anything else is kept out of the logs. */
export function isCorrelationId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w=+/-]{1,128}$/.test(value);
}

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
  /** Batches answered with 429. The client retries when a recount is done. */
  BatchesDeferred: 'Count',
  /** Recounts that wait, because the tenant was just recounted or its budget of LIST requests is used up. */
  RecountsDeferred: 'Count',
  /** Recounts of the queue that failed, each try. The message is redelivered, or becomes a dead letter. */
  RecountsFailed: 'Count',
  /** Recounts whose numbers could not be written to the history. The next recount makes up for it. */
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

/** Numbers for dashboards and alarms. No request and no recount waits for them. */
export interface Metrics {
  /** @param times defaults to 1. */
  increment(name: CounterName, times?: number): void;
  /** @param value in the metric's unit. */
  measure(name: MeasureName, value: number): void;
  /** Sends what was measured since the last flush. Call it at the end of each run: later code may never run. */
  flush(): void;
}

/**
 * The table refused a request, did not answer, or throttled it beyond the retries. A write may or may not have
 * happened. The cause is what the SDK threw.
 */
export class LedgerUnavailableError extends Error {
  override readonly name = 'LedgerUnavailableError';
}

/**
 * A newer version wrote this tenant in a format that this one does not know. Nothing was changed: a guess at what its
 * items mean could corrupt the numbers.
 */
export class NewerFormatError extends Error {
  override readonly name = 'NewerFormatError';
}

/** An action was not begun, because nobody could write down that it was. */
export class AuditUnavailableError extends LedgerUnavailableError {}

/**
 * What keeps the table, the objects or the queue has no room left. AWS has no such limit; the disk of an embedded stack
 * has. The message goes to the client: it says what to do, and holds no secret.
 */
export class StorageFullError extends Error {
  override readonly name = 'StorageFullError';
}

const causesMax = 5;

/** The first such error among an error and its causes. */
export function storageFullIn(error: unknown): StorageFullError | undefined {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < causesMax; depth += 1) {
    if (cause instanceof StorageFullError) return cause;
    cause = cause.cause;
  }
  return undefined;
}

/** The files of the console, packed when they were built. */

/** What a client can take. Base64. A file that does not get smaller has no packed form. */
export interface PackedBodies {
  readonly identity: string;
  readonly gzip?: string;
  readonly br?: string;
}

export interface PackedFile {
  readonly type: string;
  /** Names the content. */
  readonly etag: string;
  readonly bodies: PackedBodies;
}

export interface PackedConsole {
  readonly page: PackedFile;
  /** By their names below `/assets/`, which have a hash of the content in them. */
  readonly assets: Readonly<Record<string, PackedFile>>;
}

export interface ConsoleFiles {
  read(): Promise<PackedConsole>;
}
