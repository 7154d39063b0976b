import { hash } from 'node:crypto';
import { type Exchange, type ExchangeLimits, HttpExchange } from './exchange.ts';
import { HeaderSigner } from './header-signer.ts';
import { type JsonObject, jsonReader } from './json-answers.ts';
import { pause } from './pause.ts';
import { Retries, type RetrySettings } from './retry.ts';
import { serviceError } from './service-error.ts';
import { SigningClock } from './signing-clock.ts';
import { type AwsCredentials, escapePath } from './sigv4.ts';

/** A service that speaks AWS's JSON protocol, and how to reach it. */
export interface JsonServiceSettings {
  /** As errors name it: `SQS`. */
  readonly title: string;
  /** As the scope of a signature names it: `sqs`. */
  readonly signingName: string;
  /** What stands before the operation in `x-amz-target`: `AmazonSQS`. */
  readonly targetPrefix: string;
  readonly jsonVersion: '1.0' | '1.1';
  readonly region: string;
  /** Base URL. */
  readonly endpoint: string;
  /** Called for each attempt. */
  readonly credentials: () => AwsCredentials;
  /** From 0 to 1: spreads retries. */
  readonly random?: () => number;
  readonly pauses?: Omit<RetrySettings, 'attemptsMax'>;
  /** More of an answer is not read. */
  readonly answerBytesMax?: number;
}

/** A call ends within attempts × `answerMs` and the pauses between them, unless a peer keeps sending. */
export interface CallLimits extends ExchangeLimits {
  readonly attemptsMax: number;
}

/** Parallel connections. */
const socketsMax = 50;

/** Above the largest secret (65,536 bytes), even if each of its characters is escaped. */
const defaultBytesMax = 1_048_576;

/** Pauses between attempts, unless a service has its own. */
const defaultPauses: Omit<RetrySettings, 'attemptsMax'> = {
  baseDelayMs: 100,
  throttledDelayMs: 500,
  delayMaxMs: 5_000,
  retryAfterMaxMs: 5_000,
};

/** Calls of one service in one region: signed, retried, and limited in time. */
export class AwsJsonClient {
  readonly #settings: JsonServiceSettings;
  readonly #exchange: Exchange;
  readonly #signer: HeaderSigner;
  readonly #retries: Retries;
  readonly #clock = new SigningClock();
  readonly #place: { readonly origin: string; readonly host: string; readonly path: string };

  /** @param exchange replaces the network. */
  constructor(settings: JsonServiceSettings, exchange?: Exchange) {
    this.#settings = settings;
    this.#exchange = exchange ?? new HttpExchange({ socketsMax });
    this.#signer = new HeaderSigner(settings.signingName);
    this.#retries = new Retries({ random: settings.random });
    const { origin, host, pathname } = new URL(settings.endpoint);
    this.#place = { origin, host, path: `${pathname.replace(/\/$/, '')}/` };
  }

  /**
   * Throttling, 5xx, a failing network and an answer that is none are tried again; refusals are not. A call must
   * therefore do no harm if it is made twice.
   *
   * @returns the answer's body; its shape is not checked.
   * @throws {AwsServiceError} when the last attempt failed.
   */
  async call(operation: string, input: object, limits: CallLimits): Promise<JsonObject> {
    const body = JSON.stringify(input);
    const bodySha256 = hash('sha256', body, 'hex');
    const { title, pauses = defaultPauses } = this.#settings;
    const settings = { ...pauses, attemptsMax: limits.attemptsMax };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const answer = await this.#attempt(operation, { body, bodySha256, limits });
        this.#retries.noteSuccess();
        return answer;
      } catch (error) {
        if (!(error instanceof Error)) throw error;
        if (this.#clock.learnsFrom(error) && attempt < limits.attemptsMax) continue;
        const pauseMs = this.#retries.pauseMs({ error, attempt, settings });
        if (pauseMs === undefined) throw serviceError(error, { title, operation });
        await pause(pauseMs);
      }
    }
  }

  #attempt(operation: string, call: { body: string; bodySha256: string; limits: ExchangeLimits }) {
    const {
      targetPrefix,
      jsonVersion,
      region,
      credentials,
      answerBytesMax = defaultBytesMax,
    } = this.#settings;
    const { origin, host, path } = this.#place;
    const { body, bodySha256, limits } = call;
    const headers = this.#signer.sign({
      method: 'POST',
      host,
      // All services but S3 escape the path once more.
      path: escapePath(path),
      query: '',
      headers: {
        'content-type': `application/x-amz-json-${jsonVersion}`,
        'x-amz-target': `${targetPrefix}.${operation}`,
      },
      credentials: credentials(),
      region,
      signedAtMs: this.#clock.nowMs(),
      bodySha256,
    });
    return this.#exchange.send({
      request: { method: 'POST', origin, path, headers, body },
      limits,
      readerOf: (head) => jsonReader(head, answerBytesMax),
    });
  }
}
