import { describe, expect, it } from 'vitest';
import { packConsole } from '../../../console/build/pack.ts';

const { page, assets } = packConsole();
const bytesOf = (base64: string) => Buffer.from(base64, 'base64').length;
const sent = ({ bodies }: typeof page) => bytesOf(bodies.br ?? bodies.identity);
const files = Object.entries(assets);

const textOf = (name: string) => Buffer.from(assets[name]?.bodies.identity ?? '', 'base64').toString('utf8');
const sentOf = (names: Iterable<string>) =>
  [...names].reduce((sum, name) => sum + (assets[name] ? sent(assets[name]) : 0), 0);

/** A script with those that it cannot start without. */
function withImports(name: string, known = new Set<string>()): Set<string> {
  if (known.has(name)) return known;
  known.add(name);
  for (const [, imported = ''] of textOf(name).matchAll(/(?:from|import)"\.\/([^"]+)"/g))
    withImports(imported, known);
  return known;
}

const nameOf = (start: string) => files.map(([name]) => name).find((name) => name.startsWith(start)) ?? '';

describe('the console as it is sent', () => {
  it('has at most 42 kB before the overview is seen, and at most 60.3 in all', () => {
    const first = [...withImports(nameOf('console-')), nameOf('style-'), nameOf('instrument-sans-')];
    expect(first.filter((name) => name.endsWith('.js')).length).toBe(2);
    expect(sentOf(first)).toBeGreaterThan(20_000);
    expect(sent(page) + sentOf(first)).toBeLessThanOrEqual(42_000);
    expect(sent(page) + sentOf(files.map(([name]) => name))).toBeLessThanOrEqual(60_300);
  });

  it('names in the page all that its script starts with', () => {
    const html = Buffer.from(page.bodies.identity, 'base64').toString('utf8');
    for (const name of withImports(nameOf('console-'))) expect(html).toContain(`/assets/${name}"`);
  });

  it('names each file by its content', () => {
    const again = packConsole({ quality: 1 });
    expect(Object.keys(again.assets)).toEqual(Object.keys(assets));
    for (const [name] of files) expect(name).toMatch(/^[a-z-]+-([0-9a-f]{16}\.(css|woff2)|[0-9A-Z]{8}\.js)$/);
    expect(new Set(files.map(([name]) => name)).size).toBe(files.length);
  });

  it('has no character outside of what its font has, but for code', () => {
    const text = files
      .filter(([name]) => name.endsWith('.js'))
      .map(([, file]) => Buffer.from(file.bodies.identity, 'base64').toString('utf8'))
      .join('');
    const others = new Set([...text].filter((each) => each > '~' && !'\u00a0·–…↑↓−'.includes(each)));
    expect([...others]).toEqual([]);
  });
});
