import type * as z from 'zod';
import { type UnionToIntersection, valuesOf } from './core/rules/types.ts';
import type { RouteContract } from './frame/contract/contract.ts';
import { subscriptionContractWith } from './frame/contract/tenants.ts';
import * as contracts from './lists/contracts.ts';
import * as fields from './lists/repo-fields.ts';
import { repos } from './repo-contract.ts';
import type { RouteKey } from './routes.ts';

type OfSubscription<F> = F extends { readonly subscription: infer S } ? S : never;
const subscription = subscriptionContractWith(
  repos.repoSchema,
  valuesOf(fields).flatMap((each) => ('subscription' in each ? each.subscription : [])) as OfSubscription<
    (typeof fields)[keyof typeof fields]
  >[],
);

export type RepoBody = z.output<typeof repos.repoSchema>;
export type SubscriptionBody = z.output<typeof subscription.subscriptionSchema>;

type Contracts = typeof contracts;
type AllContracts = UnionToIntersection<Contracts[keyof Contracts]> &
  typeof subscription.routes &
  typeof repos.routes;
const said = Object.assign(
  {},
  ...Object.values(contracts),
  subscription.routes,
  repos.routes,
) as AllContracts;

/** Every route with all that is said of it. The compiler lets none be missing, and no other be there. */
export const contract = said satisfies Readonly<Record<RouteKey, RouteContract>> &
  Readonly<Record<Exclude<keyof typeof said, RouteKey>, never>>;
