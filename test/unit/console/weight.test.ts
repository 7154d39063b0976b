import { describe, expect, it } from 'vitest';
import { packConsole } from '../../../console/build/pack.ts';

const { page, assets } = packConsole();
const bytesOf = (base64: string) => Buffer.from(base64, 'base64').length;
const sent = ({ bodies }: typeof page) => bytesOf(bodies.br ?? bodies.identity);
const files = Object.entries(assets);

describe('the console as it is sent', () => {
  it('has at most 45 kB, and without its font 25', () => {
    const all = sent(page) + files.reduce((sum, [, file]) => sum + sent(file), 0);
    const font = files
      .filter(([name]) => name.endsWith('.woff2'))
      .reduce((sum, [, file]) => sum + sent(file), 0);
    expect(font).toBeGreaterThan(10_000);
    expect(all).toBeLessThan(45_000);
    expect(all - font).toBeLessThan(25_000);
  });

  it('names each file by its content', () => {
    const again = packConsole({ quality: 1 });
    expect(Object.keys(again.assets)).toEqual(Object.keys(assets));
    expect(files.map(([name]) => name.replace(/-[0-9a-f]{16}\./, '.')).sort()).toEqual([
      'console.js',
      'instrument-sans.woff2',
      'style.css',
    ]);
  });

  it('has no character outside of what its font has, but for code', () => {
    const text = files
      .filter(([name]) => name.endsWith('.js'))
      .map(([, file]) => Buffer.from(file.bodies.identity, 'base64').toString('utf8'))
      .join('');
    const others = new Set([...text].filter((each) => each > '~' && !'\u00a0·×–—‘’“”…↑↓−'.includes(each)));
    expect([...others]).toEqual([]);
  });
});
