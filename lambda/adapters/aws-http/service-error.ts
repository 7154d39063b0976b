import { AnswerError, MalformedAnswerError } from './answers.ts';
import { isNetworkError } from './retry.ts';

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
 * The error to throw for a call that failed. What is no failure of the service or the network is a bug, and is returned
 * unchanged.
 *
 * @param call.title of the service: `SQS`.
 */
export function serviceError(error: Error, call: { title: string; operation: string }): Error {
  const { title, operation } = call;
  if (error instanceof AnswerError) {
    const { status, name: code } = error;
    const message = `${title} answered ${operation} with ${status} ${code}: ${error.message}`;
    return new AwsServiceError({ message, code, status });
  }
  if (!(error instanceof MalformedAnswerError) && !isNetworkError(error)) return error;
  const { code: systemCode } = error as { code?: unknown };
  const code = typeof systemCode === 'string' ? systemCode : error.name;
  const message = `${title} did not answer ${operation}: ${error.message || code}`;
  return new AwsServiceError({ message, code, cause: error });
}
