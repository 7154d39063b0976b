import { describe, expect, it } from 'vitest';
import { adoptedReposFromJson } from '../../lambda/domain/adopted-json.ts';
import { type AdoptedRepo, adoptedJsonBytesMax } from '../../lambda/domain/adopted-repo.ts';
import { parseStageSettings, StageSettingsError } from '../../lib/settings/parse-stage-settings.ts';
import { grantsOf } from './grants-of.ts';
import { templateOf } from './stack-template.ts';

const gitea: AdoptedRepo = { tenant: 'acme', repo: 'game', path: 'lfs/', names: 'ab/cd/rest' };
const oids = (path: string): AdoptedRepo => ({ ...gitea, path, names: 'oid' });

/** Function name → its variable LFS_QUOTA_ADOPTED_REPOS. */
function variables(settings: Parameters<typeof templateOf>[0]): Map<string, string> {
  const functions = Object.entries(templateOf(settings).findResources('AWS::Lambda::Function'));
  return new Map(
    functions.flatMap(([id, resource]) => {
      const text = resource['Properties'].Environment.Variables['LFS_QUOTA_ADOPTED_REPOS'];
      const name = /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1] ?? id;
      return text === undefined ? [] : [[name, String(text)] as const];
    }),
  );
}

describe('adopted repos', () => {
  it('are told to every function that sends keys to the store, or hears of keys, and to no other', () => {
    const told = variables({ storeEvents: true, adoptedRepos: [gitea] });
    expect([...told.keys()].sort()).toEqual(
      [
        'exportArchive',
        'getSubscription',
        'lfsBatch',
        'lfsVerify',
        'management',
        'reconcile',
        'scanShard',
        'storeEvents',
      ].sort(),
    );
    for (const text of told.values()) expect(adoptedReposFromJson(text)).toEqual([gitea]);
  });

  it('need no variable, and no grant, if there are none', () => {
    expect(variables({ storeEvents: true }).size).toBe(0);
    const [without, none] = [grantsOf(templateOf()), grantsOf(templateOf({ adoptedRepos: [] }))];
    expect(none).toEqual(without);
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
    [
      Array.from({ length: 12 }, (_, index) => ({
        ...gitea,
        repo: `r${index}`,
        path: `${'long'.repeat(30)}${index}/`,
      })),
      `adoptedRepos: must have at most ${adoptedJsonBytesMax} bytes as JSON`,
    ],
  ])('is rejected by name: %#', (adoptedRepos, message) => {
    const settings = { adoptedRepos } as Parameters<typeof parseStageSettings>[1];
    expect(() => parseStageSettings('prod', settings)).toThrow(StageSettingsError);
    expect(() => parseStageSettings('prod', settings)).toThrow(message);
  });
});
