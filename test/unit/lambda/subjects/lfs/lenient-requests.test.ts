import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { contract } from '../../../../../lambda/contract.ts';
import type { RouteContract } from '../../../../../lambda/frame/contract/contract.ts';
import { jsonSchemaOf, partsOf } from '../../../../support/worst-bodies.ts';

interface Row {
  readonly title: string;
  readonly schema: z.ZodType;
  readonly example: unknown;
  /** Names of fields, `[]` for the first element of a list. */
  readonly field: readonly string[];
  readonly empty: null | '';
}

/** Each field that a request can leave out, in each LFS route, with what clients write instead. */
const rows: readonly Row[] = Object.entries<RouteContract>(contract)
  .filter(([, { lfsErrors }]) => lfsErrors !== undefined)
  .flatMap(([route, { body, query }]) => [
    ...(body ? rowsOf(`${route} body`, body.schema, body.example) : []),
    ...(query ? rowsOf(`${route} query`, query, {}) : []),
  ]);

function rowsOf(place: string, schema: z.ZodType, example: unknown): Row[] {
  return partsOf(jsonSchemaOf(schema)).flatMap(([path, { properties = {}, required = [] }]) =>
    Object.keys(properties as object)
      .filter((name) => !(required as string[]).includes(name))
      .flatMap((name) =>
        ([null, ''] as const).map((empty) => {
          const field = [...path, name];
          const title = `${place}: ${field.join('.')} is ${JSON.stringify(empty)}`;
          return { title, schema, example, field, empty };
        }),
      ),
  );
}

/** A value with another one in a field. undefined: without it. */
function withField(value: unknown, [name = '', ...rest]: readonly string[], field: unknown): unknown {
  if (name === '[]') {
    const [first, ...others] = value as unknown[];
    return [withField(first, rest, field), ...others];
  }
  const { [name]: inner, ...others } = value as Record<string, unknown>;
  const next = rest.length > 0 ? withField(inner, rest, field) : field;
  return next === undefined ? others : { ...others, [name]: next };
}

describe('a field of an LFS request that can be absent', () => {
  it.each(rows)('$title, as if it were', ({ schema, example, field, empty }) => {
    const parsed = schema.parse(withField(example, field, empty));
    expect(parsed).toEqual(schema.parse(withField(example, field, undefined)));
  });

  it('is in the body or the query, or in an element of a list', () => {
    const titles = rows.map(({ title }) => title);
    for (const part of [/batch body: hash_algo /, /copies body: objects\.\[\]\.href /, /locks query: id /])
      expect(titles).toContainEqual(expect.stringMatching(part));
  });
});
