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

/** Ids that find the log lines of one invocation of a function, and those of the reconciles that it requested. */
export interface Invocation {
  /** The id of the HTTP request. An error response names it. Without a request: the invocation's own id. */
  readonly requestId?: string;
  /** Of a reconcile: the id of its message in the queue. */
  readonly messageId?: string;
  /** Of a reconcile: the cause that its message named, see {@link causeOf}. */
  readonly correlationId?: string | undefined;
  /** The id in Lambda's own log lines. */
  readonly functionRequestId?: string;
  /** Set for the first invocation of a container. */
  readonly coldStart?: true;
}

/**
 * What a reconcile that this invocation requests names as its cause. A reconcile passes its own cause on, so the first
 * cause is kept.
 */
export function causeOf(invocation: Invocation): string | undefined {
  return invocation.requestId ?? invocation.correlationId ?? invocation.messageId;
}

/** API Gateway's ids are base64. Those of Lambda and SQS are UUIDs. Anything else is kept out of the logs. */
export function isCorrelationId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w=+/-]{1,128}$/.test(value);
}

/** Of the function that runs. */
export interface FunctionPorts {
  readonly invocations: Invocations;
}
