import { expect, it } from 'vitest';
import { wrongKind } from '../../../../../../lambda/frame/access/rules/kinds.ts';

const path = { tenant: 'acme', repo: 'media' };

it('names a repo of the wrong kind, and what to use instead', () => {
  expect(wrongKind({ kind: 'files' }, { ...path, needed: 'files' })).toBeUndefined();
  expect(wrongKind({}, { ...path, needed: 'lfs' })).toBeUndefined();
  expect(wrongKind(undefined, { ...path, needed: 'lfs' })).toBeUndefined();
  expect(wrongKind({ kind: 'files' }, { ...path, needed: 'lfs' })).toMatch(/^acme\/media .* files API/);
  for (const repo of [{}, undefined])
    expect(wrongKind(repo, { ...path, needed: 'files' })).toMatch(/^acme\/media is a repo for Git LFS\./);
});
