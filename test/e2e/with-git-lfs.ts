import { spawnSync } from 'node:child_process';
import { describe, it } from 'vitest';

/** Tests that need the real client. Where it is missing they fail in CI, and elsewhere are skipped, which is said. */
export function describeWithGitLfs(title: string, body: () => void): void {
  const missing =
    'git-lfs is not installed (Debian: apt-get install git-lfs), so there is no client to test with.';
  if (spawnSync('git', ['lfs', 'version']).status === 0) {
    describe(title, body);
  } else if (process.env['CI']) {
    it(title, () => {
      throw new Error(missing);
    });
  } else {
    process.stderr.write(`Skipped: ${missing}\n`);
    it.skip(`${title}: git-lfs is not installed`);
  }
}
