import { hash } from 'node:crypto';
import { MalformedAnswerError, TextReader } from '../aws-http/answers.ts';
import { awsDomain } from '../aws-http/domain.ts';
import type { AnswerHead, Exchange } from '../aws-http/exchange.ts';
import { HeaderSigner } from '../aws-http/header-signer.ts';
import { jsonReader } from '../aws-http/json-answers.ts';
import { pause } from '../aws-http/pause.ts';
import { isThrottling, Retries } from '../aws-http/retry.ts';
import { serviceError } from '../aws-http/service-error.ts';
import { SigningClock } from '../aws-http/signing-clock.ts';
import { type AwsCredentials, escapePath, escapeUri } from '../aws-http/sigv4.ts';
import { SocketExchange } from '../aws-http/socket-exchange.ts';

/** A function, and how to reach it. */
export interface FunctionPlace {
  readonly functionName: string;
  readonly region: string;
  /** Base URL of what stands in for Lambda. Omitted: the region's own. */
  readonly endpoint?: string | undefined;
  /** Called for each attempt. */
  readonly credentials: () => AwsCredentials;
  /** Invocations at a time. */
  readonly atOnce: number;
  /** From 0 to 1: spreads retries. */
  readonly random?: () => number;
}

export type InvocationOutcome =
  /** The function's answer, which nobody has looked at. */
  | { readonly kind: 'answered'; readonly payload: string }
  /** The account runs as many functions as it may. */
  | { readonly kind: 'throttled' }
  /** The function died, threw, or was silent for too long, or Lambda could not be reached. */
  | { readonly kind: 'failed'; readonly error: Error };

/** Lambda answers an invocation with 6 MB at most. */
const answerBytesMax = 6 * 1024 ** 2 + 1024;

const connectMs = 2_000;

/** Throttling passes when another function ends. Whoever waits can do the work itself meanwhile. */
const retry = {
  attemptsMax: 3,
  baseDelayMs: 100,
  throttledDelayMs: 400,
  delayMaxMs: 1_000,
  retryAfterMaxMs: 1_000,
};

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
  readonly #place: FunctionPlace;
  readonly #exchange: Exchange;
  readonly #signer = new HeaderSigner('lambda');
  readonly #clock = new SigningClock();
  readonly #retries: Retries;
  readonly #url: URL;

  /** @param exchange replaces the network. */
  constructor(place: FunctionPlace, exchange?: Exchange) {
    const { functionName, region } = place;
    const base = place.endpoint ?? `https://lambda.${region}.${awsDomain(region)}`;
    this.#place = place;
    this.#exchange = exchange ?? new SocketExchange({ socketsMax: place.atOnce });
    this.#retries = new Retries({ random: place.random });
    this.#url = new URL(`/2015-03-31/functions/${escapeUri(functionName)}/invocations`, base);
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.#exchange.destroy();
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
      return { kind: 'answered', payload: await this.#attempts(input, end.signal) };
    } catch (error) {
      stop.throwIfAborted();
      if (!(error instanceof Error)) throw error;
      if (isThrottling(error)) return { kind: 'throttled' };
      return { kind: 'failed', error: serviceError(error, { title: 'Lambda', operation: 'Invoke' }) };
    } finally {
      clearTimeout(timer);
      stop.removeEventListener('abort', onStop);
    }
  }

  async #attempts(input: { event: object; withinMs: number }, end: AbortSignal): Promise<string> {
    const body = JSON.stringify(input.event);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const payload = await this.#attempt(body, { answerMs: input.withinMs, end });
        this.#retries.noteSuccess();
        return payload;
      } catch (error) {
        end.throwIfAborted();
        if (!(error instanceof Error) || error instanceof MalformedAnswerError) throw error;
        if (this.#clock.learnsFrom(error) && attempt < retry.attemptsMax) continue;
        const pauseMs = this.#retries.pauseMs({ error, attempt, settings: retry });
        if (pauseMs === undefined) throw error;
        await pause(pauseMs, end);
        end.throwIfAborted();
      }
    }
  }

  #attempt(body: string, { answerMs, end }: { answerMs: number; end: AbortSignal }): Promise<string> {
    const { region, credentials } = this.#place;
    const { host, origin, pathname } = this.#url;
    const headers = this.#signer.sign({
      method: 'POST',
      host,
      // All services but S3 escape the path once more.
      path: escapePath(pathname),
      query: '',
      headers: { 'content-type': 'application/json', 'x-amz-invocation-type': 'RequestResponse' },
      credentials: credentials(),
      region,
      signedAtMs: this.#clock.nowMs(),
      bodySha256: hash('sha256', body, 'hex'),
    });
    return this.#exchange.send({
      request: { method: 'POST', origin, path: pathname, headers, body },
      limits: { connectMs, answerMs },
      readerOf: (head) => payloadReader(head),
      stop: end,
    });
  }
}

function payloadReader(head: AnswerHead) {
  const failure = head.headers['x-amz-function-error'];
  return new TextReader(answerBytesMax, (text) => {
    if (head.status === 200 && failure === undefined) return text;
    if (head.status === 200) throw new FunctionFailedError(failureIn(text, String(failure)));
    const reader = jsonReader(head, answerBytesMax);
    reader.write(Buffer.from(text));
    reader.end();
    throw new MalformedAnswerError(`The answer has the status ${head.status}.`);
  });
}

/** What Lambda says of a function that failed: `{"errorType": …, "errorMessage": …}`. */
function failureIn(text: string, kind: string): string {
  const shown = text.slice(0, 300).replaceAll(/\s+/g, ' ');
  return `The function failed (${kind}): ${shown}`;
}
