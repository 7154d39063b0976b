import { readdirSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isTenantName } from '../../../lambda/core/rules/names.ts';
import { gaugedQueues } from '../../../lambda/frame/gauges/rules/gauges.ts';
import { handlerFiles, queueNames, routes } from '../../../lambda/routes.ts';

const handlersFolder = join(import.meta.dirname, '../../../lambda/functions');

describe('the route table', () => {
  it.each(routes)('$method $path: each segment is a literal or one whole variable', ({ path }) => {
    // The root has none.
    const [first, ...segments] = path === '/' ? [''] : path.split('/');
    expect(first).toBe('');
    for (const segment of segments) expect(segment).toMatch(/^(?:[a-z0-9.-]+|\{[a-zA-Z]+\})$/);
  });

  it.each(routes)('$method $path: names no variable twice', ({ path }) => {
    const variables = path.match(/\{\w+\}/g) ?? [];
    expect(new Set(variables).size).toBe(variables.length);
  });

  it('has no route twice, under whatever names for its variables', () => {
    const shapes = routes.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`);
    expect(new Set(shapes).size).toBe(shapes.length);
  });

  it('leads to files that are there, and to each of them', () => {
    const files = readdirSync(handlersFolder, { recursive: true, withFileTypes: true })
      .filter((each) => each.isFile())
      .map(({ parentPath, name }) => relative(handlersFolder, join(parentPath, name)));
    const handlers = files.filter((file) => basename(file) !== 'parts.ts' && !file.startsWith('needs/'));
    expect(Object.values(handlerFiles).sort()).toEqual(handlers.sort());
  });

  it('has no queue that the operator cannot look at', () => {
    expect([...gaugedQueues].sort()).toEqual([...queueNames].sort());
  });

  it('begins with no literal that a tenant could be called', () => {
    const literals = routes
      .map(({ path }) => path.split('/')[1] ?? '')
      .filter((part) => !part.startsWith('{'));
    expect(literals.length).toBeGreaterThan(0);
    for (const literal of literals) expect(isTenantName(literal), literal).toBe(false);
  });
});
