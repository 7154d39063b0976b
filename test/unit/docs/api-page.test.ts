import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { contract } from '../../../lambda/contract.ts';
import type { RouteContract } from '../../../lambda/frame/contract/contract.ts';
import { problemTypes } from '../../../lambda/frame/contract/problems.ts';
import { openApiDocument } from '../../../lambda/openapi.ts';
import { routes } from '../../../lambda/routes.ts';
import { apiPage } from './api-page.ts';

const page = fileURLToPath(new URL('../../../docs/api.md', import.meta.url));

describe('docs/api.md', () => {
  it('is as the code has it now', async () => {
    await expect(apiPage()).toMatchFileSnapshot(page);
  });

  it('shows each route once', () => {
    const shown = readFileSync(page, 'utf8').match(/^\| `[A-Z]+ [^`]+`/gm) ?? [];
    expect(shown.sort()).toEqual(routes.map(({ method, path }) => `| \`${method} ${path}\``).sort());
  });
});

describe('the description of the API', () => {
  const routesSaid: Readonly<Record<string, RouteContract>> = contract;
  const operations = Object.entries(routesSaid);

  it.each(operations)('%s: its examples are what its schemas take', (_route, { body, answers }) => {
    if (body) expect(z.safeParse(body.schema, body.example)).toMatchObject({ success: true });
    for (const { schema, example } of Object.values(answers))
      if (schema && example !== undefined)
        expect(z.safeParse(schema, example)).toMatchObject({ success: true });
  });

  it('explains only values that a field can have', () => {
    const wrong: string[] = [];
    let explained = 0;
    const visit = (part: unknown) => {
      if (typeof part !== 'object' || part === null) return;
      const { enum: values, description } = part as { enum?: unknown; description?: unknown };
      if (Array.isArray(values) && typeof description === 'string')
        for (const [, value = ''] of description.matchAll(/(?:^|[.] )([a-z][a-z-]*): /g)) {
          explained += 1;
          if (!values.includes(value) && value !== 'null') wrong.push(`${value}: ${description}`);
        }
      for (const inner of Object.values(part)) visit(inner);
    };
    visit(openApiDocument('https://lfs.example.com'));
    expect(wrong).toEqual([]);
    expect(explained).toBeGreaterThan(20);
  });

  it('has an id of its own for each operation', () => {
    const ids = operations.map(([, { id }]) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('names each problem where it can come, but for those of no route', () => {
    const described = JSON.stringify(openApiDocument('http://127.0.0.1'));
    const unnamed = Object.keys(problemTypes).filter((code) => !new RegExp(`[" ]${code}: `).test(described));
    // They answer what is no operation of the document.
    expect(unnamed).toEqual(['method-not-allowed']);
  });

  it('refers to no schema that it does not have', () => {
    const document = openApiDocument('http://127.0.0.1');
    const { schemas } = z
      .object({ schemas: z.record(z.string(), z.unknown()) })
      .parse(document['components']);
    const references = JSON.stringify(document).match(/#\/components\/schemas\/\w+/g) ?? [];
    expect(references.length).toBeGreaterThan(50);
    for (const reference of references) expect(schemas).toHaveProperty(reference.split('/').at(-1) ?? '');
  });
});
