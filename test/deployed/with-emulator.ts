import { describe, it } from 'vitest';

/**
 * Tests on an emulated AWS: `DEPLOYED_MINISTACK` names its program. Without it they fail in CI, and elsewhere
 * are skipped, which is said.
 */
export function describeWithEmulator(title: string, body: (ministack: string) => void): void {
  const ministack = process.env['DEPLOYED_MINISTACK'];
  const missing = 'DEPLOYED_MINISTACK is not set: run the tests by .ci/deployed.sh, which installs it.';
  if (ministack) {
    describe(title, () => body(ministack));
  } else if (process.env['CI']) {
    it(title, () => {
      throw new Error(missing);
    });
  } else {
    process.stderr.write(`Skipped: ${missing}\n`);
    it.skip(`${title}: ${missing}`);
  }
}
