import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ownRelease, releaseOf } from '../../../lib/release.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'lfs-quota release-'));
  writeFileSync(path.join(folder, 'package.json'), '{"version":"1.2.3"}');
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.com', '-C', folder, ...args], {
    encoding: 'utf8',
  });

function commit(): string {
  git('init', '--quiet');
  git('add', '.');
  git('commit', '--quiet', '-m', 'first');
  return git('rev-parse', '--short=12', 'HEAD').trim();
}

describe('what a build is called', () => {
  it('is the version of package.json and the commit of the checkout', () => {
    const head = commit();
    expect(releaseOf(folder)).toEqual({ version: '1.2.3', commit: head });
    git('tag', 'v9');
    expect(releaseOf(folder).commit).toBe(head);
    writeFileSync(path.join(folder, 'package.json'), '{"version":"1.2.4"}');
    expect(releaseOf(folder)).toEqual({ version: '1.2.4', commit: `${head}-dirty` });
  });

  it('is no commit of another repository', () => {
    const head = commit();
    const unpacked = path.join(folder, 'unpacked');
    mkdirSync(unpacked);
    writeFileSync(path.join(unpacked, 'package.json'), '{"version":"2.0.0"}');
    expect(releaseOf(unpacked)).toEqual({ version: '2.0.0', commit: null });
    // As a hook of Git has it.
    vi.stubEnv('GIT_DIR', path.join(tmpdir(), 'of-another'));
    expect(releaseOf(folder).commit).toBe(head);
  });

  it('is a version alone without Git, or without a commit', () => {
    git('init', '--quiet');
    expect(releaseOf(folder).commit).toBeNull();
    commit();
    vi.stubEnv('PATH', folder);
    expect(releaseOf(folder)).toEqual({ version: '1.2.3', commit: null });
  });

  it('is found of this checkout', () => {
    expect(ownRelease().version).toMatch(/^\d+\.\d+\.\d+/);
    expect(ownRelease()).toBe(ownRelease());
  });
});
