import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundledPackages, noticeOf } from '../../../bin/notice.ts';

let root: string;
const font = () => path.join(root, 'OFL.txt');
beforeAll(() => {
  root = mkdtempSync(path.join(tmpdir(), 'lfs-quota notice-'));
  writeFileSync(font(), 'The font.\n');
});
afterAll(() => rmSync(root, { recursive: true }));

function install(folder: string, license: string, files: Readonly<Record<string, string>> = {}) {
  const name = folder.replace(/^.*node_modules\//, '');
  const all = { 'package.json': JSON.stringify({ name, version: '1.0.0', license }), ...files };
  for (const [file, text] of Object.entries(all)) {
    const to = path.join(root, 'node_modules', folder, file);
    mkdirSync(path.dirname(to), { recursive: true });
    writeFileSync(to, text);
  }
}

describe('the notice of a bundle', () => {
  it('has each package once, with its licences and those of what it has from others', () => {
    const [licence, crlf] = ['Permission is granted.\n', 'Permission is granted.\r\n'];
    install('b', 'MIT', {
      LICENSE: licence,
      'deps/level/COPYING': 'Of the level.',
      'readme.md': 'Not this.',
    });
    install('@scope/a', 'MIT', { 'LICENSE.md': crlf, 'node_modules/other/LICENSE': 'Not bundled.' });
    install('b/node_modules/c', 'ISC');
    const packages = bundledPackages(
      ['cli/main.ts', 'node_modules/b/x.js', 'node_modules/b/y/z.js', '../node_modules/@scope/a/i.js'].concat(
        'node_modules/b/node_modules/c/index.js',
      ),
      root,
    );
    expect(packages.map(({ name }) => name)).toEqual(['@scope/a', 'b', 'c']);
    const line = '-'.repeat(80);
    expect(noticeOf(packages, { font: font() }).split(`\n\n${line}\n\n`)).toEqual([
      'lfs-quota contains:',
      'Instrument Sans (OFL-1.1)\n\nThe font.',
      '@scope/a 1.0.0 (MIT)\nb 1.0.0 (MIT)\n\nPermission is granted.',
      'b 1.0.0 (MIT)\n\nOf the level.',
      'c 1.0.0 (ISC)\n',
    ]);
  });

  it('refuses a licence that nobody has allowed', () => {
    install('copyleft', 'GPL-3.0-only');
    const packages = bundledPackages(['node_modules/copyleft/index.js'], root);
    expect(() => noticeOf(packages, { font: font() })).toThrow('copyleft has the licence GPL-3.0-only');
  });
});
