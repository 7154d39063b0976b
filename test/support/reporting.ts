import type { Reporter } from 'vitest/node';
import { FlakyTests } from './flaky-tests.ts';

/**
 * If `TEST_REPORT` names a file, the results are also written there as JSON, so that CI can count them.
 */
export function reporting(): { reporters: (string | Reporter | [string, { outputFile: string }])[] } {
  const outputFile = process.env['TEST_REPORT'];
  const always = ['default', new FlakyTests()];
  return { reporters: outputFile ? [...always, ['json', { outputFile }]] : always };
}
