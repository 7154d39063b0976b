import { describeWith } from '../support/describe-with.ts';

/**
 * Tests that need a real engine. Without one they fail in CI, and are skipped elsewhere.
 *
 * @param engine.urlVariable the environment variable that holds the engine's address.
 * @param body defines the tests, against that address.
 */
export function describeOn(engine: { name: string; urlVariable: string }, body: (url: string) => void): void {
  const { name, urlVariable } = engine;
  const missing = `${urlVariable} is not set. Start the engine with: .ci/engines.sh run -- npm run test:engines`;
  describeWith({ title: `on ${name}`, found: process.env[urlVariable] || undefined, missing }, body);
}
