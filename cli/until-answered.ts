import { CliError } from './errors.ts';
import { type DownloadDeps, retrying } from './transfer.ts';

export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** How long the server wants nobody to ask again. */
  readonly retryAfterMs?: number | undefined;
}

/** Whether it can be another answer a little later. 509: the downloads of a month are used up. */
export const isForNow = (status: number) =>
  status === 429 || (status >= 500 && status !== 501 && status !== 509);

/** Asks again while a server is busy or out of reach. @throws {CliError} */
export function untilAnswered<A extends Answer>(
  deps: DownloadDeps,
  ask: () => Promise<A>,
  refusal: (answer: A) => CliError,
): Promise<A> {
  return retrying<A>(deps, async () => {
    const answer = await ask().catch(connectionError);
    if (answer instanceof CliError) return { kind: 'failed', error: answer };
    return isForNow(answer.status)
      ? { kind: 'failed', error: refusal(answer), waitMs: answer.retryAfterMs }
      : { kind: 'done', value: answer };
  });
}

/** The error of a connection that broke. @throws any other. */
function connectionError(error: unknown): CliError {
  if (error instanceof CliError && error.failure === 'unavailable') return error;
  throw error;
}
