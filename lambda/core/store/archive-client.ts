import { S3Client } from '@aws-sdk/client-s3';
import { requestHandler } from '../table/sdk.ts';
import { endingWithin, pause, Retries, type S3Settings } from './bucket-client.ts';
import { MalformedAnswerError, StoreAnswerError } from './http-exchange.ts';
import { translateStoreError } from './object-store.ts';
import { StoreUnavailableError } from './rules/store.ts';

/** What the SDK adds to its errors, if it can. */
interface SdkError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Record<string, string> };
}

/**
 * What a failed call of the SDK means, in the words of the other clients of the store.
 *
 * - An answer with an error → {@link StoreAnswerError}. S3 may send one with status 200: the SDK makes that 503.
 * - An answer that cannot be read → {@link MalformedAnswerError}.
 * - Anything else, such as a failed connection, is returned unchanged.
 */
function storeErrorOf(thrown: unknown): unknown {
  if (!(thrown instanceof Error)) return thrown;
  const { name, message, $metadata, $response }: SdkError = thrown;
  const status = $metadata?.httpStatusCode;
  if (status !== undefined && status >= 300) {
    const head = { status, headers: $response?.headers ?? {} };
    return new StoreAnswerError({ status, code: name, message, head });
  }
  const isUnreadable = status !== undefined || $response !== undefined;
  return isUnreadable ? new MalformedAnswerError(`Can't read the response (${name}).`) : thrown;
}

/** A bucket, and how to reach it. */
export type ArchiveSettings = Pick<
  S3Settings,
  | 'bucket'
  | 'region'
  | 'endpoint'
  | 'forcePathStyle'
  | 'credentials'
  | 'timeoutFactor'
  | 'followsRegion'
  | 'headers'
  | 'isUnsigned'
  | 'random'
>;

/** Long, because a store may take minutes to copy a GiB, or to join 10,000 parts. */
const defaultLimits = {
  connectMs: 5_000,
  /** Longest wait for the head of an answer, uploading included, or for its next byte. */
  answerMs: 120_000,
  /** A call ends within this time, with all attempts. */
  callMs: 300_000,
  attemptsMax: 5,
  baseDelayMs: 100,
  throttledDelayMs: 1_000,
  delayMaxMs: 10_000,
  retryAfterMaxMs: 10_000,
};

/** More than a worker's copies, uploads, reads and CRC-32s at a time, so that none waits for a connection. */
const socketsMax = 256;

export type ArchiveLimits = typeof defaultLimits;

/** What an attempt needs. The signal ends the call. */
interface Attempt {
  readonly client: S3Client;
  readonly abortSignal: AbortSignal;
}

/** Calls of the SDK that are limited in time, and retried. */
export class ArchiveClient {
  readonly bucket: string;
  readonly #client: S3Client;
  readonly #retries: Retries;
  readonly #limits: ArchiveLimits;

  /** @param limits replaces some of them. */
  constructor(settings: ArchiveSettings, limits: Partial<ArchiveLimits> = {}) {
    const { bucket, region, endpoint, forcePathStyle = false, credentials, random } = settings;
    const { timeoutFactor = 1, followsRegion = false, headers, isUnsigned = false } = settings;
    const all = { ...defaultLimits, ...limits };
    const { connectMs, answerMs, callMs } = all;
    this.bucket = bucket;
    this.#limits = { ...all, callMs: callMs * timeoutFactor };
    this.#retries = new Retries({ random });
    this.#client = new S3Client({
      region,
      ...(endpoint !== undefined && { endpoint }),
      forcePathStyle,
      followRegionRedirects: followsRegion,
      ...(isUnsigned && { signer: { sign: async (request) => request } }),
      // Without an end, the SDK would keep the first ones for ever.
      credentials: async () => {
        const { sessionToken, ...keys } = await credentials();
        return { ...keys, ...(sessionToken !== undefined && { sessionToken }), expiration: new Date() };
      },
      requestHandler: requestHandler({
        connectMs: connectMs * timeoutFactor,
        answerMs: answerMs * timeoutFactor,
        socketsMax,
      }),
      // The SDK's own retries share one quota, which a short disturbance of many requests uses up.
      maxAttempts: 1,
      // A body is hashed for the signature, so the store notices a broken one. With a checksum beside it, a store would
      // refuse the parts of an upload that was created without.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      // With it, the SDK opens a connection for each upload, and closes it.
      expectContinueHeader: false,
    });
    if (!headers) return;
    this.#client.middlewareStack.add(
      (next) => (args) => {
        Object.assign((args.request as { headers: object }).headers, headers);
        return next(args);
      },
      { step: 'build' },
    );
  }

  /** Closes the connections that are kept alive. */
  destroy(): void {
    this.#client.destroy();
  }

  /**
   * @param request the operation's name, for messages.
   * @param attempt sends it, and reads the answer to its end. What it throws is thrown on, unless it is the SDK's.
   * @throws {StoreUnavailableError} @throws {StoreRefusedError}
   */
  send<T>(request: string, attempt: (by: Attempt) => Promise<T>): Promise<T> {
    return endingWithin((stop) => this.#attempts(request, attempt, stop), {
      ms: this.#limits.callMs,
      late: () => this.#lateError(request),
    });
  }

  async #attempts<T>(
    request: string,
    attempt: (by: Attempt) => Promise<T>,
    abortSignal: AbortSignal,
  ): Promise<T> {
    for (let number = 1; ; number += 1) {
      try {
        const result = await attempt({ client: this.#client, abortSignal });
        this.#retries.noteSuccess();
        return result;
      } catch (thrown) {
        abortSignal.throwIfAborted();
        const error = storeErrorOf(thrown);
        if (!(error instanceof Error)) throw error;
        const pauseMs = this.#retries.pauseMs({ error, attempt: number, settings: this.#limits });
        if (pauseMs === undefined) throw translateStoreError(error, request);
        await pause(pauseMs, abortSignal);
      }
    }
  }

  #lateError(request: string): StoreUnavailableError {
    const message = `The store did not serve ${request} within ${this.#limits.callMs / 1000} s.`;
    return new StoreUnavailableError(message, { cause: this.#retries.lastFailure });
  }
}
