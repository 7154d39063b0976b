import type { NeedsOfAll, UnionToIntersection } from './types.ts';

type Make = (deps: never) => unknown;
/** What each of a list makes, by name: Node sorts the names of a namespace, and bundlers don't. */
export const each = <L extends Readonly<Record<string, Make>>>(list: L, deps: NeedsOfAll<L>) =>
  Object.keys(list)
    .sort()
    .map((name) => (list[name] as Make)(deps as never)) as ReturnType<L[keyof L]>[];

/** The same in one: what each makes has other names. */
export const allOf = <L extends Readonly<Record<string, Make>>>(list: L, deps: NeedsOfAll<L>) =>
  Object.assign({}, ...each(list, deps)) as object & UnionToIntersection<ReturnType<L[keyof L]>>;

export type Those<L, N extends string> = {
  readonly [K in keyof L as L[K] extends Readonly<Record<N, unknown>> ? K : never]: L[K] extends Readonly<
    Record<N, infer M>
  >
    ? M
    : never;
};

/** What those of a list have by that name which have it. */
export const those = <L extends object, N extends string>(list: L, name: N) =>
  Object.fromEntries(
    Object.entries(list).flatMap(([key, of]) => (name in of ? [[key, of[name]]] : [])),
  ) as Those<L, N>;

type Merged<O> = [keyof O] extends [never] ? Readonly<Record<never, never>> : UnionToIntersection<O[keyof O]>;

/** The same in one: each has other names. */
export const allThose = <L extends object, N extends string>(list: L, name: N) =>
  Object.assign({}, ...Object.values(list).map((of) => of[name])) as Merged<Those<L, N>>;
