import { describe, expect, it } from 'vitest';
import { readLfsAddress } from '../../../../cli/git/git.ts';

describe('an lfs.url', () => {
  it.each([
    ['http://127.0.0.1:8787/acme/game/info/lfs', 'http://127.0.0.1:8787'],
    ['https://lfs.example.com/acme/game.git/info/lfs/', 'https://lfs.example.com'],
    ['https://lfs.example.com/acme/game', 'https://lfs.example.com'],
    ['https://user@example.com/deep/path/acme/game.git', 'https://example.com/deep/path'],
  ])('%s is of a repo', (text, baseUrl) => {
    expect(readLfsAddress(text)).toEqual({ baseUrl, tenant: 'acme', repo: 'game' });
  });

  it.each([
    'ssh://git@example.com/acme/game',
    'https://example.com/',
    'https://example.com/game',
    'https://example.com/Not A Tenant/game',
    'nonsense',
  ])('%s is none', (text) => {
    expect(readLfsAddress(text)).toBeUndefined();
  });
});
