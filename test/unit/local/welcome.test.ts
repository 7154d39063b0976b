import { expect, it } from 'vitest';
import { shellQuoted } from '../../../local/welcome.ts';

it('quotes words for a shell', () => {
  expect(shellQuoted('/plain/path-1.x')).toBe('/plain/path-1.x');
  expect(shellQuoted("/it's a path")).toBe(`'/it'\\''s a path'`);
});
