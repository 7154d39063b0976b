import { z } from 'zod';
import { parseJson } from '../lambda/domain/json.ts';
import { refusalError, unreachableError } from './api-errors.ts';
import type { BusyLine } from './busy-line.ts';
import { CliError } from './errors.ts';

/** The gateway ends a request after 30 s; what takes longer never answers. */
const requestTimeoutMs = 35_000;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

export interface ApiRequest<Body> {
  readonly method: Method;
  /** Path and query below the base URL, its variable parts already encoded. */
  readonly path: string;
  readonly body?: unknown;
  /** What the answer must look like; more fields are let through. */
  readonly shape: z.ZodType<Body>;
}

export interface ApiAnswer<Body> {
  readonly status: number;
  readonly body: Body;
  /** The body as it came, for `--json`. */
  readonly text: string;
}

/** 204: no body. */
export const emptyShape = z.undefined();

/** The management API over HTTP. */
export class ApiClient {
  /** Absolute, without a slash at its end. */
  readonly baseUrl: string;
  /** The token that it sends. */
  readonly token: string;
  /** Says that it waits, and for what. */
  readonly busy: BusyLine;

  /** @param options.baseUrl absolute, without a slash at its end. */
  constructor(options: { baseUrl: string; token: string; busy: BusyLine }) {
    this.baseUrl = options.baseUrl;
    this.token = options.token;
    this.busy = options.busy;
  }

  /**
   * A resource, or undefined when it does not exist.
   *
   * @param resource.method DELETE for a dry run.
   * @throws {CliError}
   */
  async find<Body>(resource: {
    method?: Method;
    path: string;
    shape: z.ZodType<Body>;
  }): Promise<Body | undefined> {
    const { method = 'GET', path, shape } = resource;
    const request = { method, path, shape };
    const exchanged = await this.#exchange(request);
    if (exchanged.status === 404 && isProblem(exchanged.text)) return undefined;
    return this.#read(request, exchanged).body;
  }

  /** @throws {CliError} when the server did not answer, refused, or answered something else. */
  async send<Body>(request: ApiRequest<Body>): Promise<ApiAnswer<Body>> {
    return this.#read(request, await this.#exchange(request));
  }

  #read<Body>(
    request: ApiRequest<Body>,
    { status, text }: { status: number; text: string },
  ): ApiAnswer<Body> {
    const body = parseJson(text);
    if (status < 200 || status > 299) {
      throw refusalError({ status, body, request, baseUrl: this.baseUrl });
    }
    const parsed = request.shape.safeParse(body);
    if (!parsed.success) {
      throw new CliError(`${this.baseUrl} answered ${status} with a body that is not lfs-quota's.`, {
        hint: 'Check that --url or LFS_QUOTA_URL names the lfs-quota API, and that both are of one version.',
        cause: parsed.error,
      });
    }
    return { status, body: parsed.data, text };
  }

  /**
   * An answer whatever its status, for what is no part of the management API.
   *
   * @param request.mediaType of the body and of the answer. @returns the body, if it is JSON.
   * @throws {CliError} when the server did not answer.
   */
  async exchange(request: {
    method: Method;
    path: string;
    body?: unknown;
    mediaType: string;
  }): Promise<{ status: number; body: unknown }> {
    const { status, text } = await this.#exchange(request);
    return { status, body: parseJson(text) };
  }

  async #exchange(request: { method: Method; path: string; body?: unknown; mediaType?: string }) {
    const { mediaType } = request;
    const end = this.busy.begin(() => `waiting for ${this.baseUrl}`);
    try {
      const response = await fetch(this.baseUrl + request.path, {
        method: request.method,
        headers: {
          accept: mediaType ?? 'application/json, application/problem+json',
          authorization: `Bearer ${this.token}`,
          ...(request.body === undefined ? {} : { 'content-type': mediaType ?? 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        // A redirect would carry the token to another place.
        redirect: 'manual',
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      return { status: response.status, text: await response.text() };
    } catch (error) {
      throw unreachableError(error, this.baseUrl);
    } finally {
      end();
    }
  }
}

/** Only lfs-quota says so as a problem; a 404 of something else at that address is an error. */
function isProblem(text: string): boolean {
  return z.object({ code: z.string() }).safeParse(parseJson(text)).success;
}
