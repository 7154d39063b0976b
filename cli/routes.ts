import type { z } from 'zod';
import type { contract } from '../lambda/contract.ts';

/**
 * Routes of the management API as the command line and the console ask for them. Only types are from the contract: the
 * console must stay without its words and schemas.
 */

type Contract = typeof contract;

/** As the contract has it: `GET /v1/tenants/{tenant}`. */
export type Route = Extract<keyof Contract, `${string} /v1/${string}`>;

type Success = 200 | 201 | 202 | 204;
type Output<Answer> = Answer extends { readonly schema: infer S extends z.ZodType } ? z.output<S> : undefined;
/** What a route answers. undefined: no body. */
export type AnswerTo<R extends Route> = Output<
  Contract[R]['answers'][Extract<keyof Contract[R]['answers'], Success>]
>;

type ParamsIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsIn<Rest> : never;
/** The variable parts of a route's path, already checked: a `..` would lead to another route. */
export type PathParams<R extends Route> = Readonly<Record<ParamsIn<R>, string>>;

type QueryNames<Entry> = Entry extends { readonly query: infer S extends z.ZodType }
  ? keyof z.input<S>
  : never;
export type Query<R extends Route> = Readonly<
  Partial<Record<QueryNames<Contract[R]>, string | number | boolean | undefined>>
>;

type Body<Entry> = Entry extends { readonly body: { readonly schema: infer S extends z.ZodType } }
  ? z.input<S>
  : undefined;
/** What a route is sent. undefined: nothing. */
export type SentTo<R extends Route> = Body<Contract[R]>;

/** Method and path of a request, with its query. */
export function requestLine(
  route: string,
  params: Readonly<Record<string, unknown>>,
  query: Readonly<Record<string, string | number | boolean | undefined>> = {},
) {
  const [method = '', path = ''] = route.split(' ');
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(`${params[name] ?? ''}`));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, String(value));
  return { method, path: search.size === 0 ? filled : `${filled}?${search}` };
}
