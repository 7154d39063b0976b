import { expect, it } from 'vitest';
import { readLfsAddress } from '../../../../cli/git/lfs-address.ts';
import { parseRepo } from '../../../../cli/options.ts';
import { createRuleBody } from '../../../../lambda/api/contract/exchange.ts';
import { startExportBody } from '../../../../lambda/api/contract/exports.ts';
import { ofRepo } from '../../../../lambda/api/contract/fields.ts';
import { createRepoBody } from '../../../../lambda/api/contract/repos.ts';
import { createTokenBody } from '../../../../lambda/api/contract/tokens.ts';
import { pathRepo } from '../../../../lambda/api/http.ts';
import { isAdoptedRepo } from '../../../../lambda/store/rules/adopted-repos.ts';
import { httpEvent } from '../../../support/http-event.ts';

const adopted = { tenant: 'acme', path: 'old/', names: 'oid' };
const rule = { issuer: 'https://issuer.example', match: { sub: 'x' }, scope: 'read' };

/** Which repo each entrance takes a text for. undefined: none. */
const entrances: Readonly<Record<string, (text: string) => string | undefined>> = {
  path: (repo) => pathRepo(httpEvent({ pathParameters: { tenant: 'acme', repo } })),
  query: (text) => ofRepo.repo.safeParse(text).data,
  export: (repo) => startExportBody.safeParse({ repo }).data?.repo,
  'new repo': (repo) => createRepoBody.safeParse({ repo }).data?.repo,
  token: (repo) => createTokenBody.safeParse({ scope: 'read', repos: [repo] }).data?.repos?.[0],
  rule: (repo) => createRuleBody.safeParse({ ...rule, repos: [repo] }).data?.repos?.[0],
  adopted: (repo) => (isAdoptedRepo({ ...adopted, repo }) ? repo : undefined),
  'command line': (text) => orNone(() => parseRepo(text)),
  'lfs.url': (repo) => readLfsAddress(`https://lfs.example/acme/${repo}/info/lfs`)?.repo,
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
  const { path, query, export: exported, 'command line': typed, 'lfs.url': url } = takenBy('game.git');
  expect([path, query, exported, typed, url]).toEqual(['game', 'game', 'game', 'game', 'game']);
});
