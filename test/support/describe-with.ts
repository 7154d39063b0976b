import { spawnSync } from 'node:child_process';
import { describe, it } from 'vitest';

/**
 * Tests that need something which not every machine has. If it is missing they fail in CI, because a lane without
 * its engine or client proves nothing. Elsewhere they are skipped, and one line on standard error says why.
 *
 * @param need.found what was looked for; undefined if this machine does not have it.
 * @param need.missing says what is missing and how to get it.
 * @param body defines the tests.
 */
export function describeWith<T>(
  need: { readonly title: string; readonly found: T | undefined; readonly missing: string },
  body: (found: T) => void,
): void {
  const { title, found, missing } = need;
  if (found !== undefined) {
    describe(title, () => body(found));
  } else if (process.env['CI']) {
    it(title, () => {
      throw new Error(missing);
    });
  } else {
    process.stderr.write(`Skipped: ${title}. ${missing}\n`);
    it.skip(`${title}: ${missing}`);
  }
}

/** Tests of scripts that call jq. */
export function describeWithJq(title: string, body: () => void): void {
  const found = spawnSync('jq', ['--version']).status === 0 || undefined;
  describeWith({ title, found, missing: 'jq is not installed. On Debian: apt-get install jq' }, body);
}
