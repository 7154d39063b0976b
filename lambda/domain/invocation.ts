/** The ids by which the log lines of one run of a function are found, and those of what it caused. */
export interface Invocation {
  /** Of an HTTP request, whose answer names it where it is an error; of a run that no request asked for, its own. */
  readonly requestId?: string;
  /** Of a recount: its message in the queue. */
  readonly messageId?: string;
  /** Of a recount: the request that it was asked for by. */
  readonly correlationId?: string | undefined;
  /** Of every run, as Lambda's own lines name it. */
  readonly functionRequestId?: string;
  /** Only where it is so. */
  readonly coldStart?: true;
}

/** What a recount that this run asks for is to name as its cause; the first cause is kept from recount to recount. */
export function causeOf(invocation: Invocation): string | undefined {
  return invocation.requestId ?? invocation.correlationId ?? invocation.messageId;
}

/** API Gateway's ids are base64, Lambda's and SQS's UUIDs. What is none of them is not written into a log. */
export function isCorrelationId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w=+/-]{1,128}$/.test(value);
}
