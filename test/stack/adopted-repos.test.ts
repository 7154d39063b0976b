import { describe, expect, it } from 'vitest';
import type { AdoptedRepo } from '../../lambda/domain/adopted-repo.ts';
import { parseStageSettings, StageSettingsError } from '../../lib/settings/stages.ts';
import { grantsOf } from './grants-of.ts';
import { templateOf } from './stack-template.ts';

const gitea: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const oids = (path: string): AdoptedRepo => ({ ...gitea, path, names: 'oid' });

describe('adopted repos', () => {
  it('need no grant if there are none', () => {
    expect(grantsOf(templateOf({ adoptedRepos: [] }))).toEqual(grantsOf(templateOf()));
  });

  /** The grants that a stage has more with adopted repos, by function. */
  function moreGrants(adoptedRepos: AdoptedRepo[]): Record<string, string[]> {
    const without = grantsOf(templateOf());
    const more = [...grantsOf(templateOf({ adoptedRepos }))].map(([name, lines]) => [
      name,
      lines.filter((line) => !without.get(name)?.includes(line)),
    ]);
    return Object.fromEntries(more.filter(([, lines]) => lines?.length));
  }

  it('need no grant where their keys are as deep as those of tenants', () => {
    const deep = [gitea, { ...oids('org/repo/'), repo: 'b' }, { ...oids('a/b/c/'), repo: 'c' }];
    expect(moreGrants(deep)).toEqual({});
    expect(moreGrants([{ ...gitea, path: '' }])).toEqual({});
  });

  const objects = (path: string) => `ObjectStorageBucket/${path}${'?'.repeat(64)}`;

  it('below one folder are granted for exactly the keys of their objects', () => {
    const read = [`s3:GetObject on ${objects('lfs/')}`];
    expect(moreGrants([oids('lfs/')])).toEqual({
      exportArchive: read,
      getSubscription: read,
      lfsBatch: [...read, `s3:PutObject on ${objects('lfs/')}`],
      lfsVerify: read,
      management: read,
      // It may delete below any folder.
      reconcile: read,
    });
  });

  it('at the root of the bucket may be deleted there, too', () => {
    const grants = moreGrants([oids('')]);
    expect(grants['reconcile']).toEqual([
      `s3:DeleteObject on ${objects('')}`,
      `s3:GetObject on ${objects('')}`,
    ]);
    expect(grants['lfsBatch']).toEqual([`s3:GetObject on ${objects('')}`, `s3:PutObject on ${objects('')}`]);
    const deleters = Object.values(grants).filter((lines) => lines.some((line) => line.includes('Delete')));
    expect(deleters).toHaveLength(1);
  });
});

describe('a setting of adopted repos', () => {
  it.each<[object[], string]>([
    [[{ ...gitea, path: 'lfs' }], 'adoptedRepos.0.path: must be empty, or folders of'],
    [[{ ...gitea, tenant: 'A' }], "adoptedRepos.0.tenant: is not a tenant's name: 1 to 40 of"],
    [[{ ...gitea, repo: '.x' }], "adoptedRepos.0.repo: is not a repo's name"],
    [[{ ...gitea, names: 'abc' }], 'adoptedRepos.0.names: Invalid option'],
    [[{ ...gitea, prefix: '' }], 'adoptedRepos.0: Unrecognized key'],
    [
      [gitea, { ...gitea, repo: 'b' }],
      'adoptedRepos.1: acme/b has a path that overlaps with that of acme/game',
    ],
    [[{ ...gitea, path: '_gc/' }], 'adoptedRepos.0: acme/game has a path that begins with _'],
    [
      Array.from({ length: 21 }, (_, index) => ({ ...gitea, repo: `r${index}`, path: `lfs${index}/` })),
      'adoptedRepos: Too big',
    ],
  ])('is rejected by name: %#', (adoptedRepos, message) => {
    const settings = { adoptedRepos } as Parameters<typeof parseStageSettings>[1];
    expect(() => parseStageSettings('prod', settings)).toThrow(StageSettingsError);
    expect(() => parseStageSettings('prod', settings)).toThrow(message);
  });
});
