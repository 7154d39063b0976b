import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  compareKeys,
  deletionPrefix,
  isOid,
  isRepoName,
  isTenantName,
  objectKey,
  repoPrefix,
  tenantNameRule,
  tenantPrefix,
} from '../../../../../lambda/core/rules/names.ts';
import { anyCharacter } from '../../../../support/any-character.ts';

describe('the order of keys', () => {
  const byBytes = (a: string, b: string) => Math.sign(Buffer.compare(Buffer.from(a), Buffer.from(b)));

  it('is that of their UTF-8 bytes, also beyond U+FFFF, which JavaScript puts before U+E000', () => {
    const keys = [
      '',
      'a',
      'aa',
      'b',
      '\ud7ff',
      '\ue000',
      '\uffff',
      '\u{10000}',
      '\u{103fe}',
      '\u{103ff}',
      '\u{10ffff}',
    ];
    for (const [index, key] of keys.entries())
      for (const [other, than] of keys.entries())
        expect(Math.sign(compareKeys(key, than)), `${key} and ${than}`).toBe(Math.sign(index - other));
  });

  it('is that of their UTF-8 bytes, whatever they are', () => {
    const key = fc.string({ unit: anyCharacter, maxLength: 4 });
    fc.assert(
      fc.property(key, key, key, (begin, a, b) => {
        expect(Math.sign(compareKeys(begin + a, begin + b))).toBe(byBytes(begin + a, begin + b));
      }),
    );
  });
});

describe('names', () => {
  it('of tenants are lower-case letters, digits and hyphens between them, and no route', () => {
    const names = ['a', 'acme', 'a-b', 'a0', '0', 'x'.repeat(40), 'v1x', 'my-v1', 'healthy', 'assets2'];
    const routes = ['v1', 'health', 'assets'];
    const others = ['', '-a', 'a-', 'A', 'x'.repeat(41), 'a.b', '..', 'a/b', 'a b', 'a\n', '\na'];
    expect([...names, ...routes, ...others].filter(isTenantName)).toEqual(names);
    for (const name of routes) expect(tenantNameRule).toContain(name);
  });

  it('of repos are letters, digits, and dots, hyphens or underscores behind the first', () => {
    const names = ['a', 'App', 'a.b', 'a_b', 'x'.repeat(100), '0-', 'a_', 'aZ', 'v1'];
    const dots = ['.', '..', '.git', 'a.', '.a'];
    const others = ['', '-a', '_a', 'a/b', 'x'.repeat(101), 'ä', 'aäb', 'a\n', '\na'];
    expect([...names, ...dots, ...others].filter(isRepoName)).toEqual(names);
  });

  it('of objects are 64 lower-case hex digits', () => {
    const oid = '0'.repeat(64);
    const others = ['', oid.slice(1), `${oid}0`, 'A'.repeat(64), 'g'.repeat(64), `${oid}\n`, `x${oid}`];
    expect([oid, ...others].filter(isOid)).toEqual([oid]);
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
