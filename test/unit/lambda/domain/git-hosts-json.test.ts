import { describe, expect, it } from 'vitest';
import { gitHostsFromJson, gitHostsToJson } from '../../../../lambda/domain/git-hosts-json.ts';

const github = { id: 'github', kind: 'github', url: 'https://api.github.com' } as const;
const forge = { id: 'forge', kind: 'gitea', url: 'http://127.0.0.1:3000' } as const;

describe('the git hosts of a stage', () => {
  it('go through the environment, and are left out if there are none', () => {
    const text = gitHostsToJson([github, forge]);
    expect(gitHostsFromJson(text)).toEqual([github, forge]);
    expect(gitHostsToJson([])).toBeUndefined();
    expect(gitHostsFromJson(undefined)).toEqual([]);
  });

  it.each<unknown>([
    'x',
    {},
    [null],
    ['github'],
    [{ ...github, id: 7 }],
    [{ ...github, id: 'Git Hub' }],
    [{ ...github, kind: 'bitbucket' }],
    [{ ...github, url: undefined }],
    [{ ...github, url: 'http://example.com' }],
    [github, { id: 'x' }],
  ])('must be right, or no function starts: %j', (value) => {
    expect(() => gitHostsFromJson(JSON.stringify(value))).toThrow(/Deploy the stage again/);
  });

  it('are at most eight of the longest in an environment of 4 KB', () => {
    const longest = { id: 'x'.repeat(20), kind: 'github', url: `https://${'x'.repeat(192)}` } as const;
    expect(gitHostsToJson(Array.from({ length: 8 }, () => longest))?.length).toBeLessThan(2200);
  });
});
