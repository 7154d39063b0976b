import { describe, it } from 'vitest';

/**
 * Tests that need an emulator: the variable names its program. Without it they fail in CI, and elsewhere are
 * skipped, which is said.
 */
export function describeWithEmulator(
  variable: 'DEPLOYED_MINISTACK' | 'DEPLOYED_RIE',
  title: string,
  body: (program: string) => void,
): void {
  const program = process.env[variable];
  const missing = `${variable} is not set: run the tests by .ci/deployed.sh, which installs what it names.`;
  if (program) {
    describe(title, () => body(program));
  } else if (process.env['CI']) {
    it(title, () => {
      throw new Error(missing);
    });
  } else {
    process.stderr.write(`Skipped: ${missing}\n`);
    it.skip(`${title}: ${missing}`);
  }
}
