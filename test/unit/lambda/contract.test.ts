import { expect, it } from 'vitest';
import { readLfsAddress } from '../../../cli/git/git.ts';
import { parseRepo } from '../../../cli/options.ts';
import { isAdoptedRepo } from '../../../lambda/core/store/rules/adopted-repos.ts';
import { pathRepo } from '../../../lambda/frame/api/http.ts';
import { ofRepo } from '../../../lambda/frame/contract/fields.ts';
import { createRepoBody } from '../../../lambda/frame/contract/repos.ts';
import { createTokenBody } from '../../../lambda/frame/contract/tokens.ts';
import { httpEvent } from '../../support/http-event.ts';
import type { TestedSubject } from '../../support/subject.ts';
import * as subjects from '../../support/subjects.ts';
import { bodySchemas, jsonSchemaOf, partsOf, readsOf, worstBodies } from '../../support/worst-bodies.ts';

/** Whether no text of any length matches: every repetition has an end. What is looked ahead at does not count. */
function isBounded(pattern: string): boolean {
  const plain = pattern.replace(/\(\?!.*?\$\)/g, '').replace(/\[(?:\\.|[^\]\\])*\]/g, 'x');
  return /^\^.*\$$/.test(plain) && !/[*+]|\{\d+,\}/.test(plain);
}

it('an unbounded pattern is found', () => {
  expect(['^a{3}$', '^(?!.*x$)[a*]{0,9}$'].map(isBounded)).toEqual([true, true]);
  expect(['^a*$', '^a+$', '^a{2,}$', 'a', '^[^x]+$'].map(isBounded)).toEqual([
    false,
    false,
    false,
    false,
    false,
  ]);
});

it.each(bodySchemas)('the body of %s has a maximum for each list, record and text', (_route, schema) => {
  const unbounded = partsOf(jsonSchemaOf(schema)).filter(([, part]) => {
    const { type, maxItems, maxProperties, maxLength, pattern, const: only, enum: values } = part;
    const isOneOf = only !== undefined || values !== undefined;
    if (type === 'array') return maxItems === undefined;
    if (type === 'string')
      return maxLength === undefined && !isOneOf && !(typeof pattern === 'string' && isBounded(pattern));
    const hasAnyKeys = type === 'object' && typeof part['additionalProperties'] === 'object';
    return hasAnyKeys && maxProperties === undefined;
  });
  expect(unbounded.map(([path]) => path.join('.'))).toEqual([]);
});

const worst = worstBodies();

it('every part of a body is looked at', () => {
  const paths = bodySchemas.flatMap(([route, schema]) =>
    partsOf(jsonSchemaOf(schema)).map(([path]) => `${route} ${path.join('.')}`),
  );
  expect(paths).toContain('POST /v1/tenants/{tenant}/exports objects.[].name');
  expect(paths).toContain('POST /v1/tenants/{tenant}/exchange-rules match.{}.[]');
  expect(worst.length).toBeGreaterThan(bodySchemas.length);
});

it.each(worst)('$route reads little of $title', ({ schema, text }) => {
  const value: unknown = JSON.parse(text);
  expect(readsOf(schema, value)).toBeLessThan(100);
});

const adopted = { tenant: 'acme', path: 'old/', names: 'oid' };

/** Which repo each entrance takes a text for. undefined: none. */
const entrances: Readonly<Record<string, (text: string) => string | undefined>> = {
  path: (repo) => pathRepo(httpEvent({ pathParameters: { tenant: 'acme', repo } })),
  query: (text) => ofRepo.repo.safeParse(text).data,
  'new repo': (repo) => createRepoBody.safeParse({ repo }).data?.repo,
  token: (repo) => createTokenBody.safeParse({ scope: 'read', repos: [repo] }).data?.repos?.[0],
  adopted: (repo) => (isAdoptedRepo({ ...adopted, repo }) ? repo : undefined),
  'command line': (text) => orNone(() => parseRepo(text)),
  'lfs.url': (repo) => readLfsAddress(`https://lfs.example/acme/${repo}/info/lfs`)?.repo,
  ...Object.assign({}, ...Object.values<TestedSubject>(subjects).map(({ repoIn }) => repoIn)),
};

function orNone(read: () => string): string | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

const takenBy = (text: string) =>
  Object.fromEntries(Object.entries(entrances).map(([entrance, read]) => [entrance, read(text)]));

it.each([
  'game',
  'game.git',
  'game.git.git',
  'game.GIT',
  'game.Git.git',
  'game.git.GIT',
  'a.b.git',
  'git',
  'agit',
  'x'.repeat(100),
  `${'x'.repeat(100)}.git`,
])('a spelling means one repo at every entrance, or none: %s', (text) => {
  const names = new Set(Object.values(takenBy(text)).filter((name) => name !== undefined));
  expect([...names].length, JSON.stringify(takenBy(text))).toBeLessThanOrEqual(1);
  for (const name of names) expect(name).not.toMatch(/\.git$/i);
});

it('a name without .git is taken by every entrance, with it by those that take a URL', () => {
  expect(new Set(Object.values(takenBy('game')))).toEqual(new Set(['game']));
  const { path, query, 'command line': typed, 'lfs.url': url } = takenBy('game.git');
  expect([path, query, typed, url]).toEqual(['game', 'game', 'game', 'game']);
});
