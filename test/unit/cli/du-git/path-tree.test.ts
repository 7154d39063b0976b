import { describe, expect, it } from 'vitest';
import { pathsAt, pathTree, tellingPaths } from '../../../../cli/du-git/report.ts';

const file = (path: string, bytes: number, currentBytes = bytes) => ({
  path,
  bytes,
  currentBytes,
  objectCount: 1,
});
const shown = (nodes: ReturnType<typeof pathsAt>) => nodes.map(({ path, bytes }) => [path, bytes]);

const files = [
  file('assets/textures/wall.psd', 500, 100),
  file('assets/textures/floor.psd', 300),
  file('assets/sounds/door.wav', 150),
  file('readme.pdf', 50),
];

describe('the paths of a clone', () => {
  it('are added up by folder, the largest first', () => {
    const root = pathTree(files);
    expect(root).toMatchObject({ path: '', bytes: 1000, currentBytes: 600, objectCount: 4 });
    expect(shown(pathsAt(root, 1))).toEqual([
      ['assets/', 950],
      ['readme.pdf', 50],
    ]);
    expect(shown(pathsAt(root, 2))).toEqual([
      ['assets/textures/', 800],
      ['assets/sounds/', 150],
      ['readme.pdf', 50],
    ]);
    expect(shown(pathsAt(root, 9))).toEqual([
      ['assets/textures/wall.psd', 500],
      ['assets/textures/floor.psd', 300],
      ['assets/sounds/door.wav', 150],
      ['readme.pdf', 50],
    ]);
  });

  it('of a file and a folder with one name are not mixed up', () => {
    const root = pathTree([file('a', 1), file('a/b', 2)]);
    expect(shown(pathsAt(root, 1))).toEqual([
      ['a/', 2],
      ['a', 1],
    ]);
  });

  it('that tell most are those of large folders', () => {
    expect(shown(tellingPaths(pathTree(files), { countMax: 4 }))).toEqual([
      ['assets/textures/wall.psd', 500],
      ['assets/textures/floor.psd', 300],
      ['assets/sounds/door.wav', 150],
      ['readme.pdf', 50],
    ]);
  });

  it('are not more than asked for, and nothing is left out', () => {
    const many = Array.from({ length: 300 }, (_, at) => file(`f${at % 10}/g${at % 30}/${at}.bin`, at + 1));
    const root = pathTree(many);
    for (const countMax of [10, 20, 40]) {
      const paths = tellingPaths(root, { countMax });
      expect(paths.length).toBeLessThanOrEqual(countMax);
      expect(paths.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(root.bytes);
    }
  });

  it('that are deep down in one folder are shown as they are, and a small folder as one', () => {
    const root = pathTree([file('a/b/c/d.bin', 1000), ...['x', 'y'].map((name) => file(`small/${name}`, 1))]);
    expect(shown(tellingPaths(root, { countMax: 20 }))).toEqual([
      ['a/b/c/d.bin', 1000],
      ['small/', 2],
    ]);
  });
});
