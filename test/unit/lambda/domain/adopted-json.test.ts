import { describe, expect, it } from 'vitest';
import { adoptedReposFromJson, adoptedReposToJson } from '../../../../lambda/domain/adopted-json.ts';
import { type AdoptedRepo, adoptedReposMax } from '../../../../lambda/domain/adopted-repo.ts';

const repo: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...repo, repo: `r${index}`, path: `lfs${index}/` }));

describe('the adopted repos of a stage', () => {
  it('go through the environment', () => {
    const repos = many(adoptedReposMax);
    expect(adoptedReposFromJson(adoptedReposToJson(repos))).toEqual(repos);
  });

  it('need no variable if there are none', () => {
    expect(adoptedReposToJson([])).toBeUndefined();
    expect(adoptedReposFromJson(undefined)).toEqual([]);
    expect(adoptedReposFromJson('[]')).toEqual([]);
  });

  it.each([
    ['', /no JSON list/],
    ['{}', /no JSON list/],
    ['null', /no JSON list/],
    ['[null]', /Entry 1 of the adopted repos is not \{tenant, repo, path, names\}/],
    [JSON.stringify([repo, { ...repo, path: 'x' }]), /Entry 2 .* path must be empty, or folders/],
    ['[7]', /Entry 1 .*; at most 150 characters; names is one of oid, ab\/cd\/rest, ab\/cd\/oid\.$/],
    [JSON.stringify([repo, repo]), /acme\/game is named twice/],
    [JSON.stringify(many(adoptedReposMax + 1)), /There are 21 adopted repos, of at most 20/],
  ])('are not taken from %s', (text, message) => {
    expect(() => adoptedReposFromJson(text)).toThrow(message);
  });
});
