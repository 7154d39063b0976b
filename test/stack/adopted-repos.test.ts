import { describe, expect, it } from 'vitest';
import type { AdoptedRepo } from '../../lambda/core/store/rules/adopted-repos.ts';
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
      assembleUpload: ['AbortMultipartUpload', 'GetObject', 'ListMultipartUploadParts', 'PutObject'].map(
        (action) => `s3:${action} on ${objects('lfs/')}`,
      ),
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
