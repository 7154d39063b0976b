import * as z from 'zod';

/** What schemas of stored records share. */

/** The same, to be read alone: a record's type, from that of its schema. */
export type Frozen<T> = T extends ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Frozen<T[K]> }
    : T;

/** What an item may have as null, or not at all: both are null. */
export const nullable = <T extends z.ZodType>(type: T) => type.nullish().transform((value) => value ?? null);

/** Begins a name that every object has: the SDK takes no map with such a one. No name of a client begins with it. */
const escapeMark = '\\';

/** A map, stored as {@link objectOf} makes it. */
export const mapOf = <T extends z.ZodType>(value: T) =>
  z
    .record(z.string(), value)
    .transform(
      (found): ReadonlyMap<string, z.output<T>> =>
        new Map(Object.entries(found).map(([name, each]) => [unescaped(name), each as z.output<T>])),
    );

const unescaped = (name: string) => (name.startsWith(escapeMark) ? name.slice(escapeMark.length) : name);

/** What a map's name is stored as. */
export const escaped = (name: string) => (name in Object.prototype ? escapeMark + name : name);

export const objectOf = <V>(map: ReadonlyMap<string, V>): Record<string, V> =>
  Object.fromEntries([...map].map(([name, value]) => [escaped(name), value]));
