import { describe, it } from 'vitest';

/**
 * Tests that need a real engine. Where its address is not set they fail in CI, for a lane without its engine
 * proves nothing, and elsewhere are skipped, which is said.
 *
 * @param body defines the tests, against the engine's address.
 */
export function describeOn(engine: { name: string; urlVariable: string }, body: (url: string) => void): void {
  const url = process.env[engine.urlVariable];
  const missing =
    `${engine.urlVariable} is not set, so there is no ${engine.name} to test against. ` +
    'Start it with: .ci/engines.sh run -- npm run test:engines';
  if (url) {
    describe(`on ${engine.name}`, () => body(url));
  } else if (process.env['CI']) {
    it(`on ${engine.name}`, () => {
      throw new Error(missing);
    });
  } else {
    process.stderr.write(`Skipped: ${missing}\n`);
    it.skip(`on ${engine.name}: ${engine.urlVariable} is not set`);
  }
}
