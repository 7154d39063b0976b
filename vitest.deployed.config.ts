import { defineConfig } from 'vitest/config';
import { reporting } from './test/reporting.ts';

/** `cdk deploy` of the whole stack to an emulated AWS, and the bundles under the Lambda runtime emulator: see .ci/deployed.sh. */
export default defineConfig({
  test: {
    ...reporting(),
    include: ['test/deployed/**/*.test.ts'],
    testTimeout: 300_000,
    hookTimeout: 240_000,
    // They wait for queues and schedules most of the time. Each file has an emulator of its own.
    maxWorkers: 2,
    // Each test stands on what the one before it did.
    bail: 1,
  },
});
