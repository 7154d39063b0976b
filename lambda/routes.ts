import { type Route as AnyRoute, type AnyRouteKey, routeOf } from './frame/api/route-match.ts';
import type { SubjectSpec } from './frame/frame-spec.ts';
import { frame } from './frame/frame-spec.ts';
import type { FunctionSpec, OwnScope, QueueSpec } from './frame/spec.ts';
import * as specs from './lists/specs.ts';

/** Distributes over unions. */
type In<T, K extends PropertyKey> = T extends { readonly [_ in K]: infer V } ? V : never;
type KeysOf<T> = T extends unknown ? keyof T : never;

type Spec = typeof frame | (typeof specs)[keyof typeof specs];
/** What is said of functions, by those that have them, and by those that add to them. */
type Said = In<Spec, 'functions'> | In<Spec, 'adds'>;

export type FunctionName = KeysOf<In<Spec, 'functions'>>;

/** `METHOD /path`, as API Gateway names a route. */
export type RouteKey<F extends FunctionName = FunctionName> = F extends unknown ? Led<In<Said, F>> : never;
type Led<S> = S extends { readonly routes: readonly (infer K extends AnyRouteKey)[] } ? K : never;

/** What matches no route is answered by this function, as API Gateway's `$default` route. */
export const defaultRouteFunction = 'notFound';

/**
 * What pages of other origins may send to the API, and read of its answers, where a deployment allows some: with a token, never with a
 * session of the console, whose cookie counts with a header of its own alone.
 */
export const pageAccess = {
  methods: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
  headers: ['authorization', 'content-type', 'idempotency-key'],
  exposedHeaders: ['apigw-requestid', 'location', 'retry-after'],
  maxAgeSeconds: 3_600,
} as const;

export type HttpFunction =
  | { [F in FunctionName]: [RouteKey<F>] extends [never] ? never : F }[FunctionName]
  | typeof defaultRouteFunction;

type Each<T> = T extends unknown ? T[keyof T] : never;
/** The compiler lets no function use what no spec has. */
type Known<All, Used extends All> = Used;

/** The queues of a stage that has all of them. */
export type QueueName = KeysOf<In<Spec, 'queues'>>;
/** Settings of a stage with how many functions receive from a queue. */
export type WorkersSetting = Extract<Each<In<Spec, 'queues'>>, { readonly workersDo: string }>['workersIn'];
type UsedQueue = Known<QueueName, KeysOf<In<Each<Said>, 'queues'>>>;
type UsedScope = Known<KeysOf<In<Spec, 'ownScopes'>>, KeysOf<In<Each<Said>, 'own'>>>;

/** In one order, whatever runs it: Node sorts the names of a namespace, and bundlers don't. */
const all: readonly SubjectSpec[] = [
  frame,
  ...Object.entries(specs)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, spec]) => spec),
];

/** Lists continue, and what has names is joined name by name. */
function joined<T>(said: T, more: T): T {
  if (said === undefined || more === undefined) return more ?? said;
  if (Array.isArray(said)) return said.concat(more) as T;
  if (typeof said !== 'object' || said === null) return more;
  const names = Object.keys({ ...said, ...more }) as (keyof T)[];
  return Object.fromEntries(names.map((name) => [name, joined(said[name], (more as T & object)[name])])) as T;
}

/**
 * The functions of a stage that has all of them, each with what subjects add to it. docs/security.md shows their grants, and a test
 * compares it with the templates. The black-box tests run under those on the table (test/support/table-grants.ts), because no
 * emulator knows partitions.
 */
export const functionSpecs = Object.fromEntries(
  all
    .flatMap(({ functions = {} }) => Object.entries(functions))
    .map(([name, spec]) => [
      name,
      all.reduce<Partial<FunctionSpec>>(
        (sum, { adds = {} }) =>
          [name as keyof typeof adds, ...(spec.does ?? [])].reduce(
            (own, role) => joined(own, adds[role] ?? {}),
            sum,
          ),
        spec,
      ),
    ]),
) as unknown as Readonly<Record<FunctionName, FunctionSpec>>;

export interface Route extends AnyRoute {
  readonly function: HttpFunction;
}

/** The one table of HTTP routes: `lib/` deploys it as API Gateway routes, `local/` serves it. */
export const routes: readonly Route[] = Object.entries(functionSpecs).flatMap(([name, spec]) =>
  (spec.routes ?? []).map((key) => ({ ...routeOf(key), function: name as HttpFunction })),
);

export const routeKeys = routes.map(({ method, path }) => `${method} ${path}` as RouteKey);

/** File of each function below `lambda/functions/`. */
export const handlerFiles = Object.fromEntries(
  Object.entries(functionSpecs).map(([name, { file }]) => [name, file]),
) as Readonly<Record<FunctionName, string>>;

export const queueSpecs: Readonly<Record<QueueName, QueueSpec>> = Object.assign(
  {},
  ...all.map(({ queues }) => queues),
);

export const queueNames = Object.keys(queueSpecs) as QueueName[];

/** The function that a queue invokes. */
export function consumerOf(queue: UsedQueue): FunctionName {
  const found = Object.entries(functionSpecs).find(([, spec]) => spec.queues?.[queue]?.includes('receive'));
  if (!found) throw new Error(`No function receives from the queue ${queue}.`);
  return found[0] as FunctionName;
}

/** Where the service writes beside objects. */
export const ownScopes: Readonly<Record<UsedScope, OwnScope>> = Object.assign(
  {},
  ...all.map((spec) => spec.ownScopes),
);
