import { defineConfig } from 'vitest/config';
import { reporting } from './test/reporting.ts';

/** The real git-lfs client against the embedded stack. Skipped where `git lfs` is missing; fails there in CI. */
export default defineConfig({
  test: {
    ...reporting(),
    include: ['test/e2e/**/*.test.ts'],
    testTimeout: 180_000,
    hookTimeout: 60_000,
    fileParallelism: false,
  },
});
