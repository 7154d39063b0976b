/** Of a union, what is all of its members. */
export type UnionToIntersection<U> = (U extends unknown ? (each: U) => void : never) extends (
  all: infer I,
) => void
  ? I
  : never;

/** What all functions of a list together take. */
export type NeedsOfAll<L> = [
  { [K in keyof L]: L[K] extends (deps: infer D) => unknown ? (deps: D) => void : never }[keyof L],
] extends [(deps: infer D) => void]
  ? D
  : never;

/** What all of a list have in a field. */
export type AllOf<P extends readonly unknown[], K extends keyof P[number]> = [P[number]] extends [never]
  ? Readonly<Record<never, never>>
  : UnionToIntersection<P[number][K]>;

/** The values of a list, which may be empty. */
export const valuesOf = <L extends object>(list: L) => Object.values(list) as L[keyof L][];
