import type { UnionToIntersection } from '../../core/rules/types.ts';
import { problem, respondProblem } from '../api/problems.ts';
import { guard, type HttpHandler } from '../aws/function.ts';
import type { Operation } from './operations.ts';

/** All that one of them needs. */
type NeedsOf<Operations> = Operations extends unknown
  ? { [K in keyof Operations]: Operations[K] extends Operation<infer D> ? D : never }[keyof Operations]
  : never;
type KeysOf<Operations> = Operations extends unknown ? keyof Operations : never;

/** A function that answers its routes by the operations of subjects. The compiler lets none of these routes be missing. */
export const answering =
  <Route extends string>() =>
  <L extends object>(
    lists: L & ([Exclude<Route, KeysOf<L[keyof L]>>] extends [never] ? unknown : never),
  ): ((deps: UnionToIntersection<NeedsOf<L[keyof L]>> & Parameters<typeof guard>[0]) => HttpHandler) => {
    const all = new Map<string, Operation<never>>(Object.values(lists).flatMap(Object.entries));
    return (deps) =>
      guard(deps, respondProblem, async (event) => {
        const operation = all.get(event.routeKey);
        return operation ? operation(deps as never, event) : problem('not-found', 'Route not found.');
      });
  };
