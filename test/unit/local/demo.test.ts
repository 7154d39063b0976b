import { expect, it } from 'vitest';
import { shellQuoted, welcomeLines } from '../../../local/demo.ts';

const stack = {
  url: 'http://127.0.0.1:8787',
  port: 8787,
  isReady: () => true,
  drain: () => {},
  storeUrl: 'http://127.0.0.1:8788',
  dataPath: '/data',
  adminToken: 'lfsq_admin',
  adminTokenOrigin: 'created',
  demo: { kind: 'created', token: 'lfsq_demo', credentialFile: '/data/demo.git-credentials' },
  close: async () => {},
} as const;

it('shows tokens on a terminal, and else names the files that have them', () => {
  const shown = welcomeLines(stack, { showsTokens: true }).join('\n');
  expect(shown).toContain('admin token lfsq_admin (kept in /data/admin-token)');
  expect(shown).toContain('console http://127.0.0.1:8787/ (sign in with the admin token)\n');
  expect(shown).toContain('Its write token is lfsq_demo\n');
  const hidden = welcomeLines(stack, { showsTokens: false }).join('\n');
  expect(hidden).not.toMatch(/lfsq_/);
  expect(hidden).toContain('admin token in /data/admin-token\n');
  expect(hidden).toContain('Its write token is in /data/demo.git-credentials\n');
});

it('shows no limit of a kept tenant, which can have another by now, and where its token is', () => {
  const demo = { kind: 'kept', credentialFile: '/data/demo.git-credentials' } as const;
  const lines = welcomeLines({ ...stack, demo }, { showsTokens: true });
  expect(lines).toContain("The tenant 'demo' is ready. Its write token is in /data/demo.git-credentials");
  expect(lines.join('\n')).not.toContain('GiB');
});

it('quotes words for a shell', () => {
  expect(shellQuoted('/plain/path-1.x')).toBe('/plain/path-1.x');
  expect(shellQuoted("/it's a path")).toBe(`'/it'\\''s a path'`);
});
