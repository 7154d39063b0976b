import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { Settings } from '../../core/rules/settings.ts';
import { parseJson } from '../../core/rules/text.ts';
import {
  type Answer,
  accepts,
  type BodyOf,
  bodyText,
  header,
  lfsMediaType,
  type Refusal,
  type Response,
} from '../../frame/api/http.ts';
import type { RouteContract } from '../../frame/contract/contract.ts';
import { firstIssue } from '../../frame/contract/json.ts';
import { lfsError } from './http.ts';
import { invalid } from './messages.ts';

type AskedOf<C> = C extends { query: z.ZodType<infer Q> } ? Q : BodyOf<C>;
/** What is asked, and isn't nothing, must be checked. */
type Checked<T> = [T] extends [undefined] ? unknown : { readonly takes: object };

/** What a body, or of a GET the query, must be. */
export interface Takes<T> {
  readonly schema: z.ZodType<T>;
  /** The error if it's something else. */
  readonly wrong: (issue: string) => string;
  /** An error before the schema is asked, with the status 413. */
  readonly tooMany?: (settings: Settings, value: unknown) => string | undefined;
  /** An empty body stands for an empty object. */
  readonly mayBeEmpty?: true;
  /** git-lfs takes 422 for a success. */
  readonly isNever422?: true;
}

/** A request to which access is granted. */
export interface LfsRequest {
  readonly event: APIGatewayProxyEventV2;
  readonly requestId: string;
  readonly refuse: (statusCode: number, message: string) => Refusal;
}

interface Route<D, G, T, A> {
  /** Without it, the request has nothing that is read. */
  readonly takes?: Takes<T>;
  /** What is refused whatever the request says. */
  readonly refusal?: (deps: D, request: LfsRequest & G) => Promise<Refusal | undefined> | Refusal | undefined;
  /** A 404 would make git-lfs note in the clone, for good, that this server has none of it. A 403 it only prints. */
  readonly isNever404?: true;
  readonly run: (deps: D, request: LfsRequest & G & { readonly asked: T }) => Promise<A>;
}

/** Who may ask, and for what. Nothing else of the request is looked at before. */
type Check<G> = (
  event: APIGatewayProxyEventV2,
) => Promise<({ readonly ok: true } & G) | { readonly ok: false; readonly response: Response }>;

/**
 * Routes of the LFS API. The compiler lets none be missing that their contract has, and none take or answer what it doesn't say.
 * The contract is a type alone: loaded, it would bring what it says in words into functions that must start quickly, so schemas
 * are named one by one. For the bundler to leave out the rest, contracts of the LFS API are plain objects.
 *
 * @param checkOf is called once for each container.
 */
export const lfsOperations =
  <
    C extends Readonly<Record<keyof C, RouteContract>>,
    D extends Pick<CoreDeps, 'settings'>,
    G extends object,
  >(
    checkOf: (deps: D) => Check<G>,
    routes: {
      readonly [R in keyof C & string]: Route<D, G, AskedOf<C[R]>, Answer<C[R]>> & Checked<AskedOf<C[R]>>;
    },
  ) =>
  (deps: D): LfsRoutes => {
    const check = checkOf(deps);
    const answerBy = (route: Route<D, G, unknown, Response>) => async (event: APIGatewayProxyEventV2) => {
      const { takes, refusal, isNever404, run } = route;
      const access = await check(event);
      if (!access.ok) {
        const { response } = access;
        return isNever404 && response.statusCode === 404 ? { ...response, statusCode: 403 } : response;
      }
      const { requestId } = event.requestContext;
      const refuse = (statusCode: number, message: string) => lfsError({ statusCode, message, requestId });
      const request = { ...access, event, requestId, refuse };
      const refused = await refusal?.(deps, request);
      if (refused) return refused;
      const asked = decodeEvent(deps.settings, event, takes);
      return asked.ok
        ? run(deps, { ...request, asked: asked.value })
        : refuse(asked.statusCode, asked.message);
    };
    const all = Object.entries(routes) as unknown as [string, Route<D, G, unknown, Response>][];
    return new Map(all.map(([key, route]) => [key, answerBy(route)]));
  };

/** Route → what answers it. */
type LfsRoutes = ReadonlyMap<string, (event: APIGatewayProxyEventV2) => Promise<Response>>;

/** Answers by the route of an event, which is one of these. */
export function byRoute(...routes: readonly LfsRoutes[]) {
  const all = new Map(routes.flatMap((each) => [...each]));
  return async (event: APIGatewayProxyEventV2): Promise<Response> => {
    const answer = all.get(event.routeKey);
    if (!answer) throw new Error(`${event.routeKey} isn't a route of this function.`);
    return answer(event);
  };
}

type Decoded<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly statusCode: number; readonly message: string };

const bad = (statusCode: number, message: string) => ({ ok: false, statusCode, message }) as const;

/** The body of a request, or the query of a GET. It's JSON, whatever type it has: a browser's `fetch` says `text/plain`. */
export function textOf({ bodyBytesMax }: Settings, event: APIGatewayProxyEventV2): Decoded<string | object> {
  if (!accepts(event, lfsMediaType)) return bad(406, invalid.accept(lfsMediaType));
  if (event.routeKey.startsWith('GET ')) return { ok: true, value: event.queryStringParameters ?? {} };
  // A browser adds a login that it knows to what another site's page sends as text, without a preflight.
  if (header(event, 'sec-fetch-site') === 'cross-site') return bad(403, invalid.otherSite);
  const value = bodyText(event, bodyBytesMax);
  return value === undefined ? bad(413, invalid.bodyTooLarge(bodyBytesMax)) : { ok: true, value };
}

/** @param sent the text of a body, or a query. */
export function decode<T>(settings: Settings, sent: string | object, takes: Takes<T>): Decoded<T> {
  const { schema, wrong, tooMany, mayBeEmpty, isNever422 } = takes;
  const text = typeof sent === 'string' && mayBeEmpty && sent.trim() === '' ? '{}' : sent;
  const value = typeof text === 'string' ? parseJson(text) : text;
  if (value === undefined) return bad(400, isNever422 ? wrong('') : invalid.json);
  // It has a status of its own.
  const tooLarge = tooMany?.(settings, value);
  if (tooLarge !== undefined) return bad(413, tooLarge);
  const parsed = schema.safeParse(value);
  return parsed.success
    ? { ok: true, value: parsed.data }
    : bad(isNever422 ? 400 : 422, wrong(firstIssue(parsed.error)));
}

/** The same of an event. @param takes undefined: nothing. */
export function decodeEvent<T>(
  settings: Settings,
  event: APIGatewayProxyEventV2,
  takes: Takes<T> | undefined,
): Decoded<T | undefined> {
  const sent = textOf(settings, event);
  if (!sent.ok) return sent;
  return takes ? decode(settings, sent.value, takes) : { ok: true, value: undefined };
}
