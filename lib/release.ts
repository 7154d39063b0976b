import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Release } from '../lambda/core/rules/release.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

/**
 * What is built now: the version of package.json and the commit of the checkout. An unpacked archive has none, and its
 * parent folder may be the checkout of something else.
 */
export function releaseOf(root: string): Release {
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(`${root}/package.json`, 'utf8')));
  return { version, commit: existsSync(`${root}/.git`) ? commitOf(root) : null };
}

function commitOf(root: string): string | null {
  // Git sets GIT_DIR and others for what it starts, which may be us.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
  try {
    const args = ['describe', '--always', '--dirty', '--abbrev=12', '--exclude=*'];
    const stdio = ['ignore', 'pipe', 'ignore'] as const;
    const text = execFileSync('git', args, { cwd: root, env, stdio: [...stdio], encoding: 'utf8' }).trim();
    return text || null;
  } catch {
    return null;
  }
}

/** Of this checkout. Asking git takes some 20 ms, and each function of a stack has it. */
export function ownRelease(): Release {
  known ??= releaseOf(projectRoot);
  return known;
}

let known: Release | undefined;
