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

/**
 * A call of a service failed, after its retries. The message holds no credentials and no URL. The cause, if there is
 * one, is what the network or Node said.
 */
export class AwsServiceError extends Error {
  /** Of the answer. Undefined: there was none that could be read. */
  readonly status: number | undefined;
  /** The code in the answer, such as `QueueDoesNotExist`, or that of the network, such as `ECONNRESET`. Also the name. */
  readonly code: string;
  /** Of the service: `SQS`. */
  readonly title: string | undefined;

  constructor(input: { message: string; code: string; title?: string; status?: number; cause?: Error }) {
    super(input.message, input.cause && { cause: input.cause });
    this.name = input.code;
    this.code = input.code;
    this.title = input.title;
    this.status = input.status;
  }
}

/** What a secret holds can't be used. The message is for the log: it says what to do, and nothing of the secret. */
export class SecretError extends Error {
  override readonly name = 'SecretError';
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
