import { describe, expect, it } from 'vitest';
import { isOid, isRepoName, isTenantName } from '../../../../lambda/domain/names.ts';

describe('names', () => {
  it.each(['a', 'acme', 'a-b', '0', 'x'.repeat(40)])('accepts the tenant %s', (name) => {
    expect(isTenantName(name)).toBe(true);
  });
  it.each(['', '-a', 'a-', 'A', 'v1', 'health', 'assets', 'x'.repeat(41), 'a.b', '..', 'a/b', 'a\n'])(
    'rejects the tenant %j',
    (name) => {
      expect(isTenantName(name)).toBe(false);
    },
  );
  it.each(['a', 'App', 'a.b', 'a_b', 'x'.repeat(100), '0-'])('accepts the repo %s', (name) => {
    expect(isRepoName(name)).toBe(true);
  });
  it.each(['', '.', '..', '.git', 'a.', '-a', 'a/b', 'x'.repeat(101), 'ä', 'a\n'])(
    'rejects the repo %j',
    (name) => {
      expect(isRepoName(name)).toBe(false);
    },
  );
  it('accepts only 64 lower-case hex digits as an oid', () => {
    expect(isOid('0'.repeat(64))).toBe(true);
    for (const text of [
      '',
      '0'.repeat(63),
      '0'.repeat(65),
      'A'.repeat(64),
      'g'.repeat(64),
      `${'0'.repeat(64)}\n`,
    ]) {
      expect(isOid(text)).toBe(false);
    }
  });
});
