import { InvokeCommand, LambdaClient, type LambdaClientConfig } from '@aws-sdk/client-lambda';
import { clientOptions } from '../aws-sdk/client-options.ts';
import { AwsServiceError, calling } from '../aws-sdk/service-error.ts';

export type InvocationOutcome =
  /** The function's answer, which nobody has looked at. */
  | { readonly kind: 'answered'; readonly payload: string }
  /** The account runs as many functions as it may. */
  | { readonly kind: 'throttled' }
  /** The function died, threw, or was silent for too long, or Lambda could not be reached. */
  | { readonly kind: 'failed'; readonly error: Error };

/** Throttling passes when another function ends. Whoever waits can do the work itself meanwhile. */
const limits = { attemptsMax: 3, connectMs: 2_000, answerMs: 900_000 };

/** The time of an invocation was up. The function may go on. */
class SilentFunctionError extends Error {
  override readonly name = 'SilentFunctionError';
}

/** The function ended without an answer of its own. */
class FunctionFailedError extends Error {
  override readonly name = 'FunctionFailedError';
}

/** Invokes one function, and waits for its answer. The function must do no harm if it is invoked twice. */
export class FunctionInvoker {
  readonly #functionName: string;
  readonly #client: LambdaClient;

  /** @param config goes before what the environment says. */
  constructor(functionName: string, config: LambdaClientConfig = {}) {
    this.#functionName = functionName;
    this.#client = new LambdaClient({ ...clientOptions(limits), ...config });
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.#client.destroy();
  }

  /**
   * @param input.withinMs all attempts together end within this time.
   * @throws the signal's reason after an abort. Nothing else.
   */
  async invoke(input: { event: object; withinMs: number; stop: AbortSignal }): Promise<InvocationOutcome> {
    const { withinMs, stop } = input;
    stop.throwIfAborted();
    const end = new AbortController();
    const onStop = () => end.abort(stop.reason);
    stop.addEventListener('abort', onStop, { once: true });
    const silent = new SilentFunctionError(`The function did not answer within ${withinMs} ms.`);
    const timer = setTimeout(() => end.abort(silent), withinMs);
    try {
      return { kind: 'answered', payload: await this.#send(input.event, end.signal) };
    } catch (error) {
      stop.throwIfAborted();
      if (end.signal.aborted) return { kind: 'failed', error: silent };
      if (!(error instanceof Error)) throw error;
      const isThrottled = error instanceof AwsServiceError && error.code === 'TooManyRequestsException';
      return isThrottled ? { kind: 'throttled' } : { kind: 'failed', error };
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    }
  }

  async #send(event: object, abortSignal: AbortSignal): Promise<string> {
    const command = new InvokeCommand({ FunctionName: this.#functionName, Payload: JSON.stringify(event) });
    const asked = { title: 'Lambda', operation: 'Invoke' };
    const answer = await calling(asked, () => this.#client.send(command, { abortSignal }));
    const payload = answer.Payload?.transformToString() ?? '';
    if (answer.FunctionError === undefined) return payload;
    const shown = payload.slice(0, 300).replaceAll(/\s+/g, ' ');
    throw new FunctionFailedError(`The function failed (${answer.FunctionError}): ${shown}`);
  }
}
