import { describe, expect, it } from 'vitest';
import {
  deletionPrefix,
  isOid,
  isRepoName,
  isTenantName,
  objectKey,
  repoPrefix,
  tenantNameRule,
  tenantPrefix,
} from '../../../../lambda/domain/names.ts';

describe('names', () => {
  it.each(['a', 'acme', 'a-b', 'a0', '0', 'x'.repeat(40), 'v1x', 'my-v1', 'healthy', 'assets2'])(
    'accepts the tenant %s',
    (name) => {
      expect(isTenantName(name)).toBe(true);
    },
  );
  it.each([
    '',
    '-a',
    'a-',
    'A',
    'v1',
    'health',
    'assets',
    'x'.repeat(41),
    'a.b',
    '..',
    'a/b',
    'a b',
    'a\n',
    '\na',
  ])('rejects the tenant %j', (name) => {
    expect(isTenantName(name)).toBe(false);
  });
  it.each(['a', 'App', 'a.b', 'a_b', 'x'.repeat(100), '0-', 'a_', 'aZ', 'v1'])(
    'accepts the repo %s',
    (name) => {
      expect(isRepoName(name)).toBe(true);
    },
  );
  it.each(['', '.', '..', '.git', 'a.', '-a', 'a/b', 'x'.repeat(101), 'ä', 'aäb', 'a\n', '\na', '.a', '_a'])(
    'rejects the repo %j',
    (name) => {
      expect(isRepoName(name)).toBe(false);
    },
  );
  it('of tenants have a rule that an error message can tell, with every name that is taken', () => {
    for (const name of ['v1', 'health', 'assets']) {
      expect(isTenantName(name)).toBe(false);
      expect(tenantNameRule).toContain(name);
    }
  });
  it('accepts only 64 lower-case hex digits as an oid', () => {
    expect(isOid('0'.repeat(64))).toBe(true);
    for (const text of [
      '',
      '0'.repeat(63),
      '0'.repeat(65),
      'A'.repeat(64),
      'g'.repeat(64),
      `${'0'.repeat(64)}\n`,
      `x${'0'.repeat(64)}`,
    ]) {
      expect(isOid(text)).toBe(false);
    }
  });
});

describe('keys', () => {
  const path = { tenant: 'acme', repo: 'app' };

  it('are tenant, repo and oid, with slashes between', () => {
    expect(objectKey({ ...path, oid: 'ff' })).toBe('acme/app/ff');
  });

  it('of a tenant or a repo begin with a slash behind it, so that no other name begins so', () => {
    expect(tenantPrefix('acme')).toBe('acme/');
    expect(repoPrefix(path)).toBe('acme/app/');
    expect(repoPrefix({ tenant: 'acme', repo: '' })).toBe('acme//');
  });

  it('in a deletion are relative to the repo, or to the tenant if the repo has no name', () => {
    expect(deletionPrefix(path)).toBe('acme/app/');
    expect(deletionPrefix({ tenant: 'acme', repo: '' })).toBe('acme/');
  });
});
