import {
  type ApiKind,
  apiKindOf,
  apiKinds,
  isFailure,
  type SeenRequest,
  type StoreKind,
  storeKindOf,
  storeKinds,
} from './request-kind.ts';

/** Requests by kind, and how many were answered with an error. */
interface Tally<Kind extends string> {
  readonly counts: Readonly<Record<Kind, number>>;
  readonly failures: number;
}

export type ApiTally = Tally<ApiKind>;
export type StoreTally = Tally<StoreKind>;

export function tallyApi(seen: readonly SeenRequest[]): ApiTally {
  return tally(apiKinds, apiKindOf, seen);
}

export function tallyStore(seen: readonly SeenRequest[]): StoreTally {
  return tally(storeKinds, storeKindOf, seen);
}

/** Requests of all kinds. */
export function total(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function tally<Kind extends string>(
  kinds: readonly Kind[],
  kindOf: (request: SeenRequest) => Kind,
  seen: readonly SeenRequest[],
): Tally<Kind> {
  const counts = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<Kind, number>;
  for (const request of seen) counts[kindOf(request)] += 1;
  return { counts, failures: seen.filter(isFailure).length };
}
