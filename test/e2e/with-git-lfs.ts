import { spawnSync } from 'node:child_process';
import { describeWith } from '../support/describe-with.ts';

/** Tests that need the real client. Without it they fail in CI, and are skipped elsewhere. */
export function describeWithGitLfs(title: string, body: () => void): void {
  const found = spawnSync('git', ['lfs', 'version']).status === 0 || undefined;
  const missing = 'git-lfs is not installed. On Debian: apt-get install git-lfs';
  describeWith({ title, found, missing }, body);
}
