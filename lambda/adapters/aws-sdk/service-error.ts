import { redactText } from '../../domain/redact-text.ts';

/** More of what a service says about an error is not kept. */
const messageCharactersMax = 300;

/** What the SDK adds to the errors of a call that it sent. */
interface SentError extends Error {
  readonly $metadata: { readonly httpStatusCode?: number };
  readonly code?: unknown;
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

  constructor(input: { message: string; code: string; status?: number; cause?: Error }) {
    super(input.message, input.cause && { cause: input.cause });
    this.name = input.code;
    this.code = input.code;
    this.status = input.status;
  }
}

/**
 * Makes a call of the SDK, whose errors may quote all that was signed, the session token too.
 *
 * @param call.title of the service: `SQS`.
 * @throws {AwsServiceError} if the service refused it or didn't answer. What was never sent is a bug: its error is thrown
 *   as it is.
 */
export async function calling<T>(
  call: { readonly title: string; readonly operation: string },
  send: () => Promise<T>,
): Promise<T> {
  try {
    return await send();
  } catch (error) {
    throw isOfSent(error) ? serviceError(error, call) : error;
  }
}

function isOfSent(error: unknown): error is SentError {
  return error instanceof Error && (error as Partial<SentError>).$metadata !== undefined;
}

function serviceError(error: SentError, { title, operation }: { title: string; operation: string }) {
  const status = error.$metadata.httpStatusCode;
  if (status !== undefined && status >= 300) {
    const code = error.name;
    const message = `${title} answered ${operation} with ${status} ${code}: ${shown(error.message)}`;
    return new AwsServiceError({ message, code, status });
  }
  const code = typeof error.code === 'string' ? error.code : error.name;
  // A parser's error quotes what it could not read, which may be a secret.
  if (error instanceof SyntaxError)
    return new AwsServiceError({ message: `${title} sent no readable answer to ${operation}.`, code });
  const message = `${title} did not answer ${operation}: ${shown(error.message)}`;
  return new AwsServiceError({ message, code, cause: error });
}

/** The first line, without URLs and credentials. To a wrong signature AWS answers with what it expected in further lines. */
function shown(text: string): string {
  const [line = ''] = text.split('\n', 1);
  const said = redactText(line.replaceAll(/https?:\/\/\S+/g, '(URL)'));
  return said.slice(0, messageCharactersMax) || 'it gave no reason.';
}

/** Statuses and error codes of 4xx answers for which a retry may help. */
const transientStatuses: ReadonlySet<number> = new Set([408, 425, 429]);
const transientNames: ReadonlySet<string> = new Set([
  'InternalServiceError',
  'OperationAborted',
  'RequestTimeout',
  'RequestTimeoutException',
]);

/** Codes of answers that say: you ask too much. */
export const throttlingName =
  /Throttl|^SlowDown$|^TooManyRequestsException$|^RequestLimitExceeded$|^ProvisionedThroughputExceededException$/;

/** The request was refused for good: a retry does not help, somebody has to change something. */
export function isRefusal({ status, name }: { status: number; name: string }): boolean {
  const mayPass = transientStatuses.has(status) || transientNames.has(name) || throttlingName.test(name);
  return status < 500 && !mayPass;
}
