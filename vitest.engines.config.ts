import { defineConfig } from 'vitest/config';
import { reporting } from './test/reporting.ts';

/**
 * The contract suites against real engines: DynamoDB Local at `ENGINE_DYNAMODB_URL`, versitygw at
 * `ENGINE_S3_URL`. Without them the tests are skipped; with `CI` set they fail.
 */
export default defineConfig({
  test: { ...reporting(), include: ['test/engines/**/*.test.ts'], testTimeout: 60_000 },
});
