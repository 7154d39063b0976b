import { hash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { isRefusal, throttlingName } from '../table/sdk.ts';
import {
  type AnswerHead,
  type AnswerReader,
  type Exchange,
  type ExchangeLimits,
  HttpExchange,
  MalformedAnswerError,
  OtherProtocolError,
  refusalReader,
  StoreAnswerError,
} from './http-exchange.ts';
import {
  type AwsCredentials,
  type BucketAddress,
  type BucketPlace,
  bucketAddress,
  createHeaderSigner,
  escapePath,
  escapeUri,
} from './signing.ts';

export interface RetrySettings {
  readonly attemptsMax: number;
  /** Longest pause before the first retry. It doubles with each further retry. */
  readonly baseDelayMs: number;
  /** The same, after an answer that throttles. */
  readonly throttledDelayMs: number;
  readonly delayMaxMs: number;
  /** A longer Retry-After is cut to this. */
  readonly retryAfterMaxMs: number;
}

/** Statuses of answers that say: you ask too much. */
const throttlingStatuses: ReadonlySet<number> = new Set([429, 503]);

/** What the other side will not do next time either. */
export const lastingStatuses: ReadonlySet<number> = new Set([501, 505]);

/** Another time, the answer may be another one. */
export const isTransient = (status: number) =>
  throttlingStatuses.has(status) || (status >= 500 && !lastingStatuses.has(status));

/** Nothing listens at the address, or there is no such host. */
const wrongAddressCodes: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/** A failed connection has a system code (`ECONNREFUSED`) or one of TLS. Node's errors of usage begin with ERR_, too. */
export function isNetworkError(error: Error): boolean {
  const { code } = error as { code?: unknown };
  return (
    error.name === 'TimeoutError' ||
    (typeof code === 'string' && (!code.startsWith('ERR_') || /^ERR_(TLS|SSL)_/.test(code)))
  );
}

/** The other side answered a TLS handshake with something else, such as plain HTTP. */
export const isWithoutTls = (error: unknown) =>
  /SSL routines:[^:]*:(?:wrong version number|(?:packet|data) length too long)/.test(String(error));

/**
 * When a request is sent again. Each request has its own attempts. In the SDK all requests of a client share a quota
 * of retries: with a hundred requests at a time, a short disturbance uses it up, and then a single one makes a batch or
 * a scan of a thousand good answers fail. The concurrency of the callers limits them together.
 */
export class Retries {
  readonly #random: () => number;
  readonly #wrongAddressAttemptsMax: number;
  #hasSucceeded = false;
  /** The latest failure since the last success, to explain why a deadline passed. */
  lastFailure: Error | undefined;

  /**
   * @param input.random from 0 to 1: spreads the retries of requests that failed together.
   * @param input.wrongAddressAttemptsMax attempts while nobody listens at the address and no request has succeeded
   *   yet: an address that people configure is then probably wrong.
   */
  constructor({
    random = Math.random,
    wrongAddressAttemptsMax = Number.POSITIVE_INFINITY,
  }: {
    random?: (() => number) | undefined;
    wrongAddressAttemptsMax?: number;
  } = {}) {
    this.#random = random;
    this.#wrongAddressAttemptsMax = wrongAddressAttemptsMax;
  }

  noteSuccess(): void {
    this.#hasSucceeded = true;
    this.lastFailure = undefined;
  }

  /**
   * The pause before the next attempt. Undefined: no attempt may help, or none is left.
   *
   * @param failed.attempt the number of the attempt that failed, from 1.
   */
  pauseMs(failed: { error: Error; attempt: number; settings: RetrySettings }): number | undefined {
    const { error, attempt, settings } = failed;
    this.lastFailure = error;
    if (!mayHelp(error) || attempt >= this.#attemptsMax(error, settings)) return undefined;
    const { baseDelayMs, throttledDelayMs, delayMaxMs, retryAfterMaxMs } = settings;
    const longestMs = (isThrottling(error) ? throttledDelayMs : baseDelayMs) * 2 ** (attempt - 1);
    const pauseMs = Math.round(this.#random() * Math.min(delayMaxMs, longestMs));
    const wantedMs = error instanceof StoreAnswerError ? (error.retryAfterMs ?? 0) : 0;
    return Math.max(pauseMs, Math.min(retryAfterMaxMs, wantedMs));
  }

  #attemptsMax(error: Error, { attemptsMax }: RetrySettings): number {
    const { code } = error as { code?: unknown };
    const isWrongAddress = !this.#hasSucceeded && wrongAddressCodes.has(code);
    return isWrongAddress ? Math.min(this.#wrongAddressAttemptsMax, attemptsMax) : attemptsMax;
  }
}

function mayHelp(error: Error): boolean {
  if (error instanceof StoreAnswerError) return !isRefusal(error) && !lastingStatuses.has(error.status);
  if (error instanceof OtherProtocolError || isWithoutTls(error)) return false;
  return error instanceof MalformedAnswerError || isNetworkError(error);
}

/** The other side said that it was asked too much. */
export function isThrottling(error: Error): boolean {
  if (!(error instanceof StoreAnswerError)) return false;
  return throttlingStatuses.has(error.status) || throttlingName.test(error.name);
}

/** Waits. It ends early, without an error, if it is stopped or was before. */
export function pause(ms: number, stop?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, stop?.aborted ? 0 : ms);
    stop?.addEventListener('abort', end, { once: true });
  });
}

/**
 * Runs what ends within a time, and by a signal, with its reason. What it waits for beside the store, such as credentials,
 * doesn't keep it.
 *
 * @param input.late the error when the time is up.
 */
export async function endingWithin<T>(
  run: (stop: AbortSignal) => Promise<T>,
  input: { ms: number | undefined; late: () => Error; signal?: AbortSignal | undefined },
): Promise<T> {
  const { ms, late, signal } = input;
  const stop = new AbortController();
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true });
  });
  const onAbort = () => stop.abort(signal?.reason);
  if (signal !== undefined) {
    // All pages of a scan listen to it, and Node warns of a leak if there are more than ten listeners.
    setMaxListeners(0, signal);
    signal.addEventListener('abort', onAbort, { once: true });
  }
  const timer = ms === undefined ? undefined : setTimeout(() => stop.abort(late()), ms);
  try {
    return await Promise.race([run(stop.signal), stopped]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

/** A bucket, and how to reach it. */
export interface S3Settings extends BucketPlace {
  /** Called for each attempt, so that credentials may rotate. It should answer from memory. */
  readonly credentials: () => Promise<AwsCredentials>;
  /** Parallel connections. */
  readonly socketsMax?: number;
  /** Multiplies the timeouts, for a store that shares its process with others. 1 for S3 itself. */
  readonly timeoutFactor?: number;
  /** Follow AWS's redirects to the bucket's region. */
  readonly followsRegion?: boolean;
  /** Headers of each request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Sends without a signature, as to a bucket that anybody may read. No credentials are asked for. */
  readonly isUnsigned?: boolean;
  /** Hears the status of every answer, retries included. */
  readonly onAnswer?: (status: number) => void;
  /** From 0 to 1: spreads retries. */
  readonly random?: () => number;
}

/** One request, which may take several attempts. */
export interface StoreCall<T> {
  readonly method: 'GET' | 'HEAD' | 'DELETE' | 'PUT' | 'POST';
  /** Omitted: the bucket itself. */
  readonly key?: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Omitted: there is none. The store refuses it if it does not arrive as it was sent. */
  readonly body?: string;
  readonly limits: ExchangeLimits & RetrySettings;
  /** Ends the call with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** The call ends within this time, with {@link DeadlineError}. Nothing is sent afterwards. */
  readonly endsWithinMs?: number | undefined;
  /** Undefined: the answer is an error. */
  readonly readerOf: (head: AnswerHead) => AnswerReader<T> | undefined;
}

/** The time of a call is up. The cause is the latest failure, if there was one. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

export const wrongAddressAttemptsMax = 3;

/** Statuses of answers that say where else a bucket is. */
const redirects: ReadonlySet<number> = new Set([301, 307, 400]);

interface Place {
  readonly region: string;
  readonly address: BucketAddress;
}

/** Requests to one bucket: signed, retried, and limited in time. It knows neither objects nor pages. */
export class BucketClient {
  readonly #settings: S3Settings;
  readonly #exchange: Exchange;
  readonly #sign = createHeaderSigner();
  readonly #retries: Retries;
  #place: Place;

  /** @param exchange replaces the network. */
  constructor(settings: S3Settings, exchange?: Exchange) {
    // With fewer connections, a batch of 100 HEAD requests would take two rounds.
    const { socketsMax = 128, random = Math.random } = settings;
    this.#settings = settings;
    this.#exchange = exchange ?? new HttpExchange({ socketsMax });
    this.#retries = new Retries({ random, wrongAddressAttemptsMax });
    this.#place = { region: settings.region, address: bucketAddress(settings) };
  }

  get timeoutFactor(): number {
    return this.#settings.timeoutFactor ?? 1;
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.#exchange.destroy();
  }

  /**
   * @throws {DeadlineError} when the time is up, and the signal's reason after an abort.
   * @throws {Error} what the last attempt ended with: `translateStoreError` says what it means.
   */
  async send<T>(call: StoreCall<T>): Promise<T> {
    const { signal, endsWithinMs } = call;
    if (signal === undefined && endsWithinMs === undefined) return this.#attempts(call, undefined);
    signal?.throwIfAborted();
    if (endsWithinMs !== undefined && endsWithinMs <= 0) throw this.#lateError();
    return endingWithin((stop) => this.#attempts(call, stop), {
      ms: endsWithinMs,
      late: () => this.#lateError(),
      signal,
    });
  }

  async #attempts<T>(call: StoreCall<T>, stop: AbortSignal | undefined): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      // Their reader has retries of its own, so its failure ends the call.
      const credentials = this.#settings.isUnsigned ? undefined : await this.#settings.credentials();
      stop?.throwIfAborted();
      const place = this.#place;
      try {
        const result = await this.#attempt(call, { credentials, place, stop });
        this.#retries.noteSuccess();
        return result;
      } catch (error) {
        stop?.throwIfAborted();
        if (!(error instanceof Error)) throw error;
        if (this.#isFollowed(error, place)) continue;
        const pauseMs = this.#retries.pauseMs({ error, attempt, settings: call.limits });
        if (pauseMs === undefined) throw error;
        await pause(pauseMs, stop);
      }
    }
  }

  #attempt<T>(
    call: StoreCall<T>,
    by: { credentials: AwsCredentials | undefined; place: Place; stop: AbortSignal | undefined },
  ): Promise<T> {
    const { method, key, query = {}, body, limits, readerOf } = call;
    const headers = { ...this.#settings.headers, ...call.headers };
    const { credentials, stop } = by;
    const { region, address } = by.place;
    const path = `${address.path}/${key === undefined ? '' : escapePath(key)}`;
    const search = searchOf(query);
    const { host, origin } = address;
    const signedAtMs = Date.now();
    const own = { method, host, path, query: search, headers, region, signedAtMs };
    const toSign = body === undefined ? own : { ...own, bodySha256: hash('sha256', body, 'hex') };
    return this.#exchange.send({
      request: {
        method,
        origin,
        path: search === '' ? path : `${path}?${search}`,
        headers: credentials ? this.#sign({ ...toSign, credentials }) : { ...headers, host },
        ...(body !== undefined && { body }),
      },
      limits,
      readerOf: (head) => {
        this.#settings.onAnswer?.(head.status);
        return readerOf(head) ?? refusalReader(head);
      },
      stop,
    });
  }

  /**
   * Whether the next attempt goes to the region that the store names. All requests on their way are redirected at the
   * same time, and the first of them moves the client. It moves once: a second region could lead in circles.
   */
  #isFollowed(error: Error, from: Place): boolean {
    if (!this.#settings.followsRegion || !(error instanceof StoreAnswerError)) return false;
    const { status, bucketRegion: region } = error;
    if (!redirects.has(status) || region === undefined || region === from.region) return false;
    if (this.#place.region === this.#settings.region)
      this.#place = { region, address: bucketAddress({ ...this.#settings, region }) };
    return this.#place.region === region;
  }

  #lateError(): DeadlineError {
    const { lastFailure } = this.#retries;
    const why = lastFailure ? `last failure: ${lastFailure.name}, ${lastFailure.message}` : 'no answer yet';
    return new DeadlineError(`within the deadline (${why})`, { cause: lastFailure });
  }
}

/** Escaped and sorted by name, as the signature wants it. */
function searchOf(query: Readonly<Record<string, string>>): string {
  return Object.keys(query)
    .sort()
    .map((name) => `${escapeUri(name)}=${escapeUri(query[name] ?? '')}`)
    .join('&');
}
