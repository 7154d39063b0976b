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
