import { describeWith } from '../support/describe-with.ts';

/**
 * Tests that need an emulator. Without it they fail in CI, and are skipped elsewhere.
 *
 * @param variable the environment variable that holds the path of its program.
 */
export function describeWithEmulator(
  variable: 'DEPLOYED_MINISTACK' | 'DEPLOYED_RIE',
  title: string,
  body: (program: string) => void,
): void {
  const missing = `${variable} is not set. Run: .ci/deployed.sh run -- npm run test:deployed`;
  describeWith({ title, found: process.env[variable] || undefined, missing }, body);
}
