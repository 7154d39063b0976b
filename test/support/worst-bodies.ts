import * as z from 'zod';
import { contract } from '../../lambda/contract.ts';
import { defaultSettings } from '../../lambda/core/rules/settings.ts';
import { bodyBytesMaxDefault, type RouteContract } from '../../lambda/frame/contract/contract.ts';

type Json = Readonly<Record<string, unknown>>;

const routes: Readonly<Record<string, RouteContract>> = contract;

/** The schema of each route that takes a body. */
export const bodySchemas: readonly (readonly [route: string, schema: z.ZodType])[] = Object.entries(
  routes,
).flatMap(([route, { body }]) => (body ? [[route, body.schema] as const] : []));

export function jsonSchemaOf(schema: z.ZodType): Json {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  const resolved = (part: unknown): unknown => {
    if (typeof part !== 'object' || part === null) return part;
    if (Array.isArray(part)) return part.map(resolved);
    const { $ref, ...rest } = part as { $ref?: string };
    if ($ref !== undefined) return resolved({ ...$defs[$ref.replace('#/$defs/', '')], ...rest });
    return Object.fromEntries(Object.entries(rest).map(([name, inner]) => [name, resolved(inner)]));
  };
  return resolved(root) as Json;
}

/** Each schema in a schema, by its path of field names. `[]` is an element, `{}` the value of any key. */
export function partsOf(schema: Json, path: readonly string[] = []): [path: readonly string[], part: Json][] {
  const inner = (part: unknown, name: string) =>
    typeof part === 'object' && part !== null ? partsOf(part as Json, [...path, name]) : [];
  const { properties = {}, items, additionalProperties, anyOf = [], oneOf = [] } = schema;
  return [
    [path, schema],
    ...Object.entries(properties as Json).flatMap(([name, part]) => inner(part, name)),
    ...inner(items, '[]'),
    ...inner(additionalProperties, '{}'),
    ...[...(anyOf as Json[]), ...(oneOf as Json[])].flatMap((part) => partsOf(part, path)),
  ];
}

/** The largest body that a route takes. */
function bytesMaxOf(route: string): number {
  if (route.includes('/info/lfs/')) return defaultSettings.bodyBytesMax;
  return routes[route]?.body?.bytesMax ?? bodyBytesMaxDefault;
}

interface WorstBody {
  readonly route: string;
  readonly title: string;
  readonly schema: z.ZodType;
  readonly text: string;
}

/** Bodies as large as they may be, in which everything is wrong: each list and record is filled, one at a time. */
export function worstBodies(): WorstBody[] {
  return bodySchemas.flatMap(([route, schema]) => {
    const body = (path: readonly string[], content: string, filled: string) => {
      const text = path.reduceRight((rest, name) => wrapped(name, rest), filled);
      return { route, title: `${path.join('.') || 'the body'}: ${content}`, schema, text };
    };
    return partsOf(jsonSchemaOf(schema)).flatMap(([path, part]) => {
      // Who reads a hundredth of it reads too much: what may be longer would be filled for nothing.
      const room = Math.min(bytesMaxOf(route), 40_000) - 200;
      const list = (element: string) => `[${Array(Math.floor(room / (element.length + 1))).fill(element)}]`;
      if (part['type'] === 'array')
        return ['{}', '1', '[]'].map((element) => body(path, element, list(element)));
      if (part['type'] !== 'object') return [];
      const fields = Array.from({ length: Math.floor(room / 12) }, (_, index) => `"${index + 1e5}":1`);
      return [body(path, 'fields', `{${fields}}`), body(path, 'a list', list('1'))];
    });
  });
}

function wrapped(name: string, content: string): string {
  if (name === '[]') return `[${content}]`;
  return name === '{}' ? `{"key":${content}}` : `{${JSON.stringify(name)}:${content}}`;
}

/** A value whose every read is counted. */
function scanned(value: unknown, count: () => void): unknown {
  if (typeof value !== 'object' || value === null) return value;
  return new Proxy(value, {
    get: (target, key, receiver) => {
      count();
      return scanned(Reflect.get(target, key, receiver), count);
    },
  });
}

/** How much of a value a schema reads. */
export function readsOf(schema: z.ZodType, value: unknown): number {
  let reads = 0;
  schema.safeParse(
    scanned(value, () => {
      reads += 1;
    }),
  );
  return reads;
}
