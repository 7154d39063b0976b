import { z } from 'zod';
import { contract } from '../lambda/contract.ts';
import { parseJson } from '../lambda/core/rules/text.ts';
import type { RouteContract } from '../lambda/frame/contract/contract.ts';
import { CliError, refusalError, unreachableError } from './errors.ts';
import type { BusyLine } from './progress.ts';
import { retryAfterMsOf } from './retry-after.ts';
import type { AnswerTo, PathParams, Query, Route, SentTo } from './routes.ts';
import { requestLine } from './routes.ts';
import { asPrintable } from './terminal.ts';
import type { DownloadDeps } from './transfer.ts';
import { untilAnswered } from './until-answered.ts';

/** Routes of the management API, by the ids that the contract gives them: method, path and schemas come from there. */

type Contract = typeof contract;

/** As clients name a route: `getTenant`. */
export type RouteId = Contract[Route]['id'];
type RouteOf<Id extends RouteId> = { [R in Route]: Id extends Contract[R]['id'] ? R : never }[Route];

/** What a route answers. undefined: no body. */
export type BodyOf<Id extends RouteId> = AnswerTo<RouteOf<Id>>;

/** The variable parts of a route's path. */
export type ParamsOf<Id extends RouteId> = keyof PathParams<RouteOf<Id>>;

/** Routes that answer a page of a list. */
export type PageId = {
  [Id in RouteId]: BodyOf<Id> extends { readonly nextCursor: string | null } ? Id : never;
}[RouteId];

export interface Asking<Id extends RouteId> {
  readonly params?: PathParams<RouteOf<Id>>;
  readonly query?: Query<RouteOf<Id>>;
  readonly body?: SentTo<RouteOf<Id>>;
  /** Makes it safe to repeat. */
  readonly requestKey?: string;
}

const routes = new Map(
  Object.entries<RouteContract>(contract).map(([route, { id, access, answers }]) => [
    id,
    { route, access, answers },
  ]),
);

/** The request for a route: method, path with its query, and what is sent. */
export function requestOf<Id extends RouteId>(id: Id, { params, query, body, requestKey }: Asking<Id>) {
  return { ...requestLine(routeOf(id).route, params ?? {}, query), body, requestKey };
}

type Fields = Record<PropertyKey, unknown>;

/** What a field is read as that servers of an older version leave out. */
const whereAbsent: Readonly<Record<string, unknown>> = {
  atLeast: false,
  commit: null,
  gitHosts: [],
  limitContactUrl: null,
  maxUsedBytes: 0,
  repoRefusals: 0,
  version: 'unknown',
};

/** An answer with this status, if it is one of the route; more fields are let through, newer ones may be absent. */
export function answerOf<Id extends RouteId>(id: Id, status: number, body: unknown) {
  const { answers } = routeOf(id);
  const shape = (answers[status] ?? Object.values(answers)[0])?.schema ?? z.undefined();
  const parsed = shape.safeParse(body);
  for (const { path } of parsed.error?.issues ?? []) {
    const name = String(path.at(-1));
    if (!Object.hasOwn(whereAbsent, name)) continue;
    const holder = path.slice(0, -1).reduce((value, key) => value[key] as Fields, body as Fields);
    holder[name] ??= whereAbsent[name];
  }
  return (parsed.success ? parsed : shape.safeParse(body)) as z.ZodSafeParseResult<BodyOf<Id>>;
}

/** Who may call a route. */
export const accessOf = (id: RouteId) => routeOf(id).access;

function routeOf(id: RouteId) {
  const route = routes.get(id);
  if (!route) throw new Error(`Route ${id} not found.`);
  return route;
}

/** The gateway ends a request after 30 s; what takes longer never answers. */
const requestTimeoutMs = 35_000;

export interface ApiAnswer<Body> {
  readonly status: number;
  readonly body: Body;
  /** The body as it came, for `--json`. */
  readonly text: string;
}

/** The management API over HTTP. */
export class ApiClient {
  /** Absolute, without a slash at its end. */
  readonly baseUrl: string;
  /** The token that it sends. '': none. */
  readonly token: string;
  /** Says that it waits, and for what. */
  readonly busy: BusyLine;
  readonly #login: string | undefined;

  /** @param options.baseUrl absolute, without a slash at its end. @param options.login what the token's login is for. */
  constructor(options: { baseUrl: string; token: string; busy: BusyLine; login?: string | undefined }) {
    this.baseUrl = options.baseUrl;
    this.#login = options.login;
    this.token = options.token;
    this.busy = options.busy;
  }

  /** @throws {CliError} when the server did not answer, refused, or answered something else. */
  async ask<Id extends RouteId>(id: Id, asking: Asking<Id> = {}): Promise<ApiAnswer<BodyOf<Id>>> {
    return this.#read(id, asking, await this.#exchange(requestOf(id, asking)));
  }

  /** The same, or undefined for what does not exist. @throws {CliError} */
  async find<Id extends RouteId>(id: Id, asking: Asking<Id>): Promise<BodyOf<Id> | undefined> {
    const exchanged = await this.#exchange(requestOf(id, asking));
    if (exchanged.status === 404 && isProblem(parseJson(exchanged.text))) return undefined;
    return this.#read(id, asking, exchanged).body;
  }

  /** The same, again while the server is busy or out of reach, as `requestKey` lets it. @throws {CliError} */
  async askAgain<Id extends RouteId>(
    deps: DownloadDeps,
    id: Id,
    asking: Asking<Id>,
  ): Promise<ApiAnswer<BodyOf<Id>>> {
    const request = requestOf(id, asking);
    const ask = async () => {
      const { text, ...answer } = await this.#exchange(request);
      return { ...answer, text, body: parseJson(text, asPrintable) };
    };
    return this.#read(id, asking, await untilAnswered(deps, ask, (a) => this.refusal({ ...a, request })));
  }

  #read<Id extends RouteId>(
    id: Id,
    asking: Asking<Id>,
    { status, text }: { status: number; text: string },
  ): ApiAnswer<BodyOf<Id>> {
    const body = parseJson(text, asPrintable);
    if (status < 200 || status > 299) throw this.refusal({ status, body, request: requestOf(id, asking) });
    const parsed = answerOf(id, status, body);
    if (!parsed.success) {
      throw new CliError(`${this.baseUrl} returned ${status} with a body that isn't lfs-quota's.`, {
        hint: 'Check that --url or LFS_QUOTA_URL is an lfs-quota server of the same version.',
        cause: parsed.error,
      });
    }
    return { status, body: parsed.data, text };
  }

  /** What an answer without a success status means. */
  refusal(refused: Omit<Parameters<typeof refusalError>[0], 'baseUrl' | 'login'>): CliError {
    return refusalError({ ...refused, baseUrl: this.baseUrl, login: this.#login });
  }

  /**
   * An answer whatever its status, for what is no part of the management API.
   *
   * @param request.mediaType of the body and of the answer. @returns the body, if it is JSON.
   * @throws {CliError} when the server did not answer.
   */
  async exchange(request: {
    method: string;
    path: string;
    body?: unknown;
    mediaType: string;
  }): Promise<{ status: number; body: unknown; headers: Headers; retryAfterMs: number | undefined }> {
    const { text, ...answer } = await this.#exchange(request);
    return { ...answer, body: parseJson(text, asPrintable) };
  }

  async #exchange(request: {
    method: string;
    path: string;
    body?: unknown;
    mediaType?: string;
    requestKey?: string | undefined;
  }) {
    const { mediaType, requestKey } = request;
    const end = this.busy.begin(() => `waiting for ${this.baseUrl}`);
    try {
      const response = await fetch(this.baseUrl + request.path, {
        method: request.method,
        headers: {
          accept: mediaType ?? 'application/json, application/problem+json',
          ...(this.token !== '' && { authorization: `Bearer ${this.token}` }),
          ...(requestKey !== undefined && { 'idempotency-key': requestKey }),
          ...(request.body === undefined ? {} : { 'content-type': mediaType ?? 'application/json' }),
        },
        ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
        // A redirect would carry the token to another place.
        redirect: 'manual',
        signal: AbortSignal.timeout(requestTimeoutMs),
      });
      return {
        status: response.status,
        headers: response.headers,
        text: await response.text(),
        retryAfterMs: retryAfterMsOf(response.headers),
      };
    } catch (error) {
      throw unreachableError(error, this.baseUrl, request.method);
    } finally {
      end();
    }
  }
}

/** Only lfs-quota says so as a problem; a 404 of something else at that address is an error. */
export const isProblem = (body: unknown) => z.object({ code: z.string() }).safeParse(body).success;
